"""Parameters: flat names, layered `params/base.yaml` <- `params/<profile>.yaml` <- `-p name=value`, checked before any model loads."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, ValidationError, field_validator

from geobench import paths
from geobench.attacks.params import Orders, WhiteBoxParams
from geobench.errors import GeoBenchError, came, faults, nearest
from geobench.executors.params import ExecutorParams
from geobench.search.params import SearchParams
from geobench.yaml_values import parse_yaml, read_mapping

# never part of a result's identity
RESULT_FREE = {"batch_size", "checkpoint_every", "notebooks", "workers", "max_cost", *ExecutorParams.model_fields}


class Params(WhiteBoxParams, SearchParams, ExecutorParams):
    """Every parameter, those of white-box attacks, the search track and executors from mixins; params/base.yaml says what each means."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    notebooks: list[str] | None = None
    released_dir: str | None = None
    workers: int | None = Field(None, ge=1)
    max_cost: float | None = Field(None, ge=0)
    seed: int = Field(0, ge=0)
    datasets: list[str] = Field(min_length=1)
    lists_per_dataset: int | None = Field(None, ge=1)
    targets_per_list: int | None = Field(None, ge=1)
    target_rule: Literal["drawn", "first"] = "drawn"
    orders: int = Field(ge=1)
    orders_mode: Literal["shared", "released"]
    parse_mode: Literal["default", "released"]
    batch_size: int = Field(ge=1)
    attacker: str
    rewriter: str
    optimised_on: str
    white_box: list[str]
    black_box: list[str]
    rewrites: list[str]
    controls: list[str]
    external_edits: list[str]
    zero_shot_tokens: int = Field(ge=1)
    zero_shot_temperature: float = Field(ge=0)
    zero_shot_top_p: float = Field(gt=0, le=1)
    tap_ranker: str
    tap_roots: int = Field(ge=1)
    tap_branching: int = Field(ge=1)
    tap_width: int = Field(ge=1)
    tap_depth: int = Field(ge=1)
    tap_orders: Orders
    tap_tokens: int = Field(ge=1)
    tap_temperature: float = Field(ge=0)
    tap_top_p: float = Field(gt=0, le=1)
    rewrite_tokens: int = Field(ge=1)
    rewrite_temperature: float = Field(ge=0)
    rankers: list[str] = Field(min_length=1)
    main_ranker: str
    generate_variants: list[str] | None
    generate_orders: int | None = Field(ge=1)
    generate_window: int | None = Field(None, ge=2)
    generate_stride: int | None = Field(None, ge=1)
    rank_tokens: int = Field(ge=1)
    rank_structure: Literal["numbers", "json"] | None = None
    judge: str
    reference_model: str
    perplexity_limit: int = Field(ge=2)
    keyword_mode: Literal["boundary", "released"]
    levels: list[Annotated[float, Field(gt=0, le=1)]] = Field(min_length=1)
    resamples: int = Field(ge=2)
    weighting: Literal["dataset", "target"] = "dataset"
    inference: Literal["t", "published"] = "t"
    multiplicity: Literal["max_t", "holm"] | None = None
    ladder_rankers: list[str] | None = None
    ladder_variants: list[str] | None = None
    ladder_targets: int | None = Field(None, ge=1)
    ladder_lists: int | None = Field(None, ge=1)
    ladder_parts: list[Literal["from published", "from shared", "path"]] = Field(["from published", "from shared", "path"], min_length=1)
    detector: str = "minilm"
    false_positive_rate: float = Field(0.05, ge=0, le=1)
    union_rate: float = Field(0.1, ge=0, le=1)

    @field_validator("*")
    @classmethod
    def _once(cls, value, info):
        """Refuse a list that names something twice."""
        if isinstance(value, list) and info.field_name != "stealthrank_weights":
            if twice := [v for n, v in enumerate(value) if v in value[:n]]:
                raise ValueError(f"`{twice[0]}` is there twice")
        return value

    @field_validator("*")
    @classmethod
    def _countable(cls, value):
        """Refuse numbers beyond all use, which overflow what is computed from them."""
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, (int, float)) and abs(number) > 10**15:
                raise ValueError("expected a number of at most 15 digits")
        return value

    def require_known(self) -> "Params":
        """Refuse unknown methods, data sets, models and rankers."""
        from geobench.attacks import METHODS, MODEL, split
        from geobench.catalog import available_datasets
        from geobench.models import spec
        from geobench.roles import require_models

        stems = [Path(file).stem for file in self.external_edits]
        if len(set(stems)) < len(stems):
            raise GeoBenchError(f"external_edits: two files share a name, which names their variant: {', '.join(self.external_edits)}")
        for name in ("generate_variants", "ladder_variants"):
            for variant in getattr(self, name) or ():
                if split(variant)[0] not in (*METHODS, "external"):
                    raise GeoBenchError(f"{name}: unknown method `{variant}`.{nearest(variant, METHODS)}")
        for group in ("white_box", "black_box", "rewrites", "controls"):
            known = [m for m, g in METHODS.items() if g == group]
            for entry in getattr(self, group):
                method, model = split(entry)
                if method not in known:
                    raise GeoBenchError(f"{group}: unknown method `{method}`.{nearest(method, known)}")
                if model and (group not in MODEL or spec(model).kind != "causal_lm"):
                    raise GeoBenchError(f"{group}: `{entry}`: expected METHOD or METHOD__MODEL with a causal language model")
        for dataset in self.datasets:
            if dataset not in available_datasets():
                raise GeoBenchError(f"datasets: unknown data set `{dataset}`.{nearest(dataset, available_datasets())}")
        if self.released_dir:
            from geobench.released import released_folder

            released_folder(self.released_dir)
        require_models(self)
        if self.main_ranker not in self.rankers:
            raise GeoBenchError(f"main_ranker: `{self.main_ranker}` is not among rankers {self.rankers}")
        self.require_search()
        return self

    def identity(self) -> dict:
        """What determines the results."""
        return {k: v for k, v in self.model_dump().items() if k not in RESULT_FREE}


def profiles() -> list[str]:
    return sorted(f.stem for f in paths.PARAMS.glob("*.yaml") if f.stem not in ("base", "models", "lexicon"))


def parse_override(text: str) -> tuple[str, object]:
    """`name=value` with the value read as YAML."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise GeoBenchError(f"-p expects name=value, got {came(text)}")
    return name.strip(), parse_yaml(value, f"-p {came(name, 60)}={came(value, 60)}")


def layered(profile: str) -> dict:
    """A profile's values over those of params/base.yaml, unchecked."""
    if profile not in profiles():
        raise GeoBenchError(f"unknown profile `{profile}`.{nearest(profile, profiles())}")
    return read_mapping(paths.PARAMS / "base.yaml") | read_mapping(paths.PARAMS / f"{profile}.yaml")


def load(profile: str = "smoke", overrides: dict | None = None) -> Params:
    """The checked parameters of a profile with overrides."""
    return check(layered(profile) | (overrides or {}))


def check(values: dict) -> Params:
    """Validated parameters, or one line per fault with the nearest known name."""
    for name in values:
        if name not in Params.model_fields:
            raise GeoBenchError(f"unknown parameter `{name}`.{nearest(name, Params.model_fields)}")
    if values.get("objective") is None:
        reads = str(values.get("main_ranker")).endswith(":attention") and values.get("optimisation_prompt") == "deployed"
        values = values | {"objective": "attention" if reads else "target"}
    elif values["objective"] == "attention" and values.get("optimisation_prompt") in ("own", "paraphrased"):
        prompt = values["optimisation_prompt"]
        raise GeoBenchError(f"objective=attention reads the deployed prompt; optimisation_prompt={prompt} has no read-out")
    try:
        params = Params(**values)
    except ValidationError as error:
        raise GeoBenchError(faults(error.errors())) from error
    return params.require_known()
