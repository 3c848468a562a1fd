"""The heads of a model that its `attention` read-out reads: `params/heads/NAME.yaml`, which `python -m geobench heads` writes
(head_choice.py). A model without such a file is read by all of its heads.
"""

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from geobench import paths
from geobench.errors import GeoBenchError, came, faults
from geobench.models import ModelSpec, registry
from geobench.yaml_values import read_mapping

if TYPE_CHECKING:
    from geobench.kernels.decoder import Heads

FOLDER = paths.PARAMS / "heads"
HEAD = """# Written by `python -m geobench heads`: the heads that this model's attention read-out reads, layers and heads counted from 0.
# What the figures mean: lib/geobench/head_choice.py.
"""
Place = Annotated[int, Field(ge=0)]


class Head(BaseModel):
    """One head, its weight in the sum, and its figures on the calibration lists (head_choice.figures)."""

    model_config = ConfigDict(extra="forbid")

    layer: Place
    head: Place
    weight: float = Field(gt=0, allow_inf_nan=False)
    relevance: float
    w: float
    places: float


class HeadFile(BaseModel):
    """params/heads/NAME.yaml: which weights the heads were chosen for, how, and the heads."""

    model_config = ConfigDict(extra="forbid")

    model: str
    weights: str
    revision: str | None
    chosen: dict
    heads: list[Head] = Field(min_length=1)

    @property
    def digest(self) -> str:
        """Hex digest of what determines a score: the heads and their weights."""
        rows = sorted((head.layer, head.head, head.weight) for head in self.heads)
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def file_of(spec: ModelSpec) -> Path:
    return FOLDER / f"{spec.name}.yaml"


def head_file(spec: ModelSpec) -> HeadFile | None:
    """The model's heads file, checked against its row of the registry; None where there is none. GeoBenchError for a file of another model
    or other weights."""
    file = file_of(spec)
    if not file.exists():
        return None
    found = _read(file, file.stat().st_mtime_ns)
    own = weights_of(spec)
    for key, value in own.items():
        if getattr(found, key) != value:
            asked = spec.name if spec.name in registry() else spec.weights
            again = f"choose them anew with `python -m geobench heads --model {asked}`, or delete the file to read all heads"
            raise GeoBenchError(f"{file}: expected heads of {key} {value!r}, these are of {getattr(found, key)!r}; {again}")
    return found


def keep(spec: ModelSpec, force: bool) -> None:
    """GeoBenchError for a model that has usable heads, unless `force` gives them up."""
    try:
        there = head_file(spec) is not None
    except GeoBenchError:  # of other weights, or broken
        there = False
    if there and not force:
        raise GeoBenchError(f"{file_of(spec)}: `{spec.name}` has its heads; --force chooses them anew and replaces the file")


def weights_of(spec: ModelSpec) -> dict:
    """What a heads file must agree on with the model's row."""
    shown = spec.identity()
    return {key: shown[key] for key in ("model", "weights", "revision")}


def identity(spec: ModelSpec) -> dict:
    """What of the heads determines a read-out: their digest; nothing where all heads are read."""
    found = head_file(spec)
    return {"heads": found.digest} if found else {}


def heads_of(spec: ModelSpec, model) -> "Heads":
    """The heads that a loaded model's read-out sums: those of its file, else all with weight 1. GeoBenchError for a layer, or a head,
    that the model lacks."""
    from geobench.kernels.decoder import Heads, all_heads

    found = head_file(spec)
    if found is None:
        return all_heads(model)
    layers, heads = model.config.num_hidden_layers, model.config.num_attention_heads
    rows: dict[int, tuple[list[int], list[float]]] = {}
    for head in sorted(found.heads, key=lambda h: (h.layer, h.head)):
        if head.layer >= layers or head.head >= heads:
            where = f"{file_of(spec)}: layer {head.layer}, head {head.head}, counted from 0"
            raise GeoBenchError(f"{where}: `{spec.name}` has {layers} layers of {heads} heads")
        numbers, weights = rows.setdefault(head.layer, ([], []))
        if head.head in numbers:
            raise GeoBenchError(f"{file_of(spec)}: layer {head.layer}, head {head.head} stands there twice")
        numbers.append(head.head)
        weights.append(head.weight)
    return Heads(rows)


def write(spec: ModelSpec, made: HeadFile) -> None:
    """Write the model's heads file, whole or not at all."""
    file = file_of(spec)
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    partial.write_text(HEAD + yaml.safe_dump(made.model_dump(), sort_keys=False, width=140), encoding="utf-8")
    partial.replace(file)


@lru_cache
def _read(file: Path, changed: int) -> HeadFile:
    try:
        return HeadFile.model_validate(read_mapping(file))
    except ValidationError as error:
        raise GeoBenchError(f"{file}: {faults(error.errors())}") from None
    except OSError as error:
        raise GeoBenchError(f"{file}: cannot be read ({came(error)})") from error
