"""Parameters of the white-box attacks, mixed into `geobench.params.Params`; params/base.yaml says what each means."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

Count = Annotated[int, Field(ge=1)]
Orders = Annotated[int, Field(ge=1, le=100_000)]  # they are drawn at once, for every list


class WhiteBoxParams(BaseModel):
    """Fields `sts_*`, `raf_*`, `stealthrank_*`, and what the three share."""

    sts_tokens: Count
    sts_steps: Count
    sts_candidates: Count
    sts_top_k: Count
    sts_orders: Orders
    sts_incumbent: bool
    sts_verify: int | None = Field(ge=1)
    sts_merge: int = Field(ge=0)
    raf_tokens: Count
    raf_steps: Count
    raf_top: Count
    raf_guide: float
    raf_target: float
    raf_alpha: float
    raf_patience: Count
    raf_orders: Orders
    raf_verify: int | None = Field(ge=1)
    stealthrank_tokens: Count
    stealthrank_rows: Count
    stealthrank_steps: Count
    stealthrank_rate: float = Field(gt=0)
    stealthrank_temperature: float = Field(gt=0)
    stealthrank_top_k: Count
    stealthrank_weights: list[float] = Field(min_length=3, max_length=3)
    stealthrank_orders: Orders
    objective: Literal["target", "attention"]
    white_box_start: Literal["symbols", "description"]
    optimisation_prompt: Literal["own", "paraphrased", "deployed"]
    optimisation_seeds: Count
    optimisation_ranker: str
    selection: Literal["held_out", "objective", "released", "last"]
    test_every: Count
    test_orders: Orders
    checkpoint_every: Count
