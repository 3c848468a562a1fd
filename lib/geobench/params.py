"""Parameters: flat names, layered `params/base.yaml` <- `params/<profile>.yaml` <- `-p name=value`, checked before any model loads."""

import re
from pathlib import Path
from typing import Literal

import yaml
from pydantic import ConfigDict, Field, ValidationError

from geobench import paths
from geobench.errors import GeoBenchError, came, nearest
from geobench.search.params import SearchParams

RESULT_FREE = {"batch_size"}  # never part of a result's identity


class Params(SearchParams):
    """Every parameter, those of the search track from its mixin; params/base.yaml says what each means."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    seed: int = Field(0, ge=0)
    datasets: list[str] = Field(min_length=1)
    lists_per_dataset: int | None = Field(None, ge=1)
    targets_per_list: int | None = Field(None, ge=1)
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
    tap_orders: int = Field(ge=1)
    tap_tokens: int = Field(ge=1)
    tap_temperature: float = Field(ge=0)
    tap_top_p: float = Field(gt=0, le=1)
    rewrite_tokens: int = Field(ge=1)
    rewrite_temperature: float = Field(ge=0)
    sts_tokens: int = Field(ge=1)
    sts_steps: int = Field(ge=1)
    sts_candidates: int = Field(ge=1)
    sts_top_k: int = Field(ge=1)
    sts_orders: int = Field(ge=1)
    rankers: list[str] = Field(min_length=1)
    main_ranker: str
    generate_variants: list[str] | None
    generate_orders: int | None = Field(ge=1)
    rank_tokens: int = Field(ge=1)
    judge: str
    reference_model: str
    perplexity_limit: int = Field(ge=2)
    keyword_mode: Literal["boundary", "released"]
    levels: list[float] = Field(min_length=1)
    resamples: int = Field(ge=1)

    def require_known(self) -> "Params":
        """Refuse unknown methods, data sets, models and rankers."""
        from geobench.attacks import METHODS
        from geobench.catalog import available_datasets
        from geobench.models import spec
        from geobench.rankers import parse_name

        for group in ("white_box", "black_box", "rewrites", "controls"):
            known = [m for m, g in METHODS.items() if g == group]
            for method in getattr(self, group):
                if method not in known:
                    raise GeoBenchError(f"{group}: unknown method `{method}`.{nearest(method, known)}")
        for dataset in self.datasets:
            if dataset not in available_datasets():
                raise GeoBenchError(f"datasets: unknown data set `{dataset}`.{nearest(dataset, available_datasets())}")
        for model in (self.attacker, self.rewriter, self.optimised_on, self.judge, self.reference_model):
            spec(model)
        for ranker in (*self.rankers, self.main_ranker, self.tap_ranker):
            parse_name(ranker)
        if self.main_ranker not in self.rankers:
            raise GeoBenchError(f"main_ranker: `{self.main_ranker}` is not among rankers {self.rankers}")
        self.require_search()
        return self

    def identity(self) -> dict:
        """What determines the results."""
        return {k: v for k, v in self.model_dump().items() if k not in RESULT_FREE}


class _Loader(yaml.SafeLoader):
    """Safe YAML in which 1e-3 is a number."""


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789"))


def parse_yaml(text: str):
    """Safe-loaded YAML."""
    loader = _Loader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def profiles() -> list[str]:
    return sorted(f.stem for f in paths.PARAMS.glob("*.yaml") if f.stem not in ("base", "models", "lexicon"))


def parse_override(text: str) -> tuple[str, object]:
    """`name=value` with the value read as YAML."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise GeoBenchError(f"-p expects name=value, got {came(text)}")
    try:
        return name.strip(), parse_yaml(value)
    except yaml.YAMLError as error:
        raise GeoBenchError(f"-p {name}: the value is not YAML: {came(value)}") from error


def load(profile: str = "smoke", overrides: dict | None = None) -> Params:
    """The checked parameters of a profile with overrides."""
    if profile not in profiles():
        raise GeoBenchError(f"unknown profile `{profile}`.{nearest(profile, profiles())}")
    merged = {}
    for layer in (paths.PARAMS / "base.yaml", paths.PARAMS / f"{profile}.yaml"):
        merged |= _mapping(layer)
    return check(merged | (overrides or {}))


def _mapping(file: Path) -> dict:
    values = parse_yaml(file.read_text()) or {}
    if not isinstance(values, dict):
        raise GeoBenchError(f"{file.name}: expected a mapping of names to values, got {came(values)}")
    return values


def check(values: dict) -> Params:
    """Validated parameters, or one line per fault with the nearest known name."""
    for name in values:
        if name not in Params.model_fields:
            raise GeoBenchError(f"unknown parameter `{name}`.{nearest(name, Params.model_fields)}")
    try:
        params = Params(**values)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}, got {came(e['input'], 60)}" for e in error.errors()]
        raise GeoBenchError("; ".join(f.removeprefix(": ") for f in faults)) from error
    return params.require_known()
