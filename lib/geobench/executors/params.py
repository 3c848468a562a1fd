"""Parameters of where work runs, mixed into `geobench.params.Params`; params/base.yaml says what each means. None changes a result."""

from typing import Literal

from pydantic import BaseModel, Field


class ExecutorParams(BaseModel):
    """`executor` and the fields `ray_*`."""

    executor: Literal["local", "ray"] = "local"
    ray_workers: int | None = Field(None, ge=1)
    ray_cpus: float = Field(1.0, gt=0)
    ray_gpus: float = Field(0.0, ge=0)
    ray_retries: int = Field(3, ge=0)
    ray_tasks: Literal["list", "target"] = "list"
