"""Per-target CSV records as the public release writes them, checked against their own derived columns.

`per_instance_<ranker>_<method>.csv`: method, dataset, category, target_idx, L, r_before, r_after and, where kept, ranks_before and
ranks_after (JSON lists), nrg, success@0.1, promote@0.1, kvr. Our own `per_target.csv` is read too (variant, list, target, ranker).
Tables of texts (`instances_*`) and of lists hold no ranks and are passed over.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from geobench.errors import GeoBenchError, came
from geobench.json_values import parse_json
from geobench.metrics import nrg, promote, success
from geobench.released_checks import check_method, check_ranks, named
from geobench.released_lists import require_list

RENAMED = {"method": "variant", "category": "list", "target_idx": "target"}
NEEDED = ["variant", "dataset", "list", "target", "L", "r_before", "r_after"]
DERIVED = {"nrg": 1e-5, "success@0.1": 0, "promote@0.1": 0}  # largest difference that rounding explains


def read_csv(file: Path) -> list[dict]:
    """Rows as `released.read_released` wants them; [] for a file of texts or of lists."""
    try:
        table = pd.read_csv(file, dtype={"category": str, "list": str, "dataset": str}, keep_default_na=True)
    except (ValueError, UnicodeDecodeError) as error:
        raise GeoBenchError(f"{file.name}: not a readable CSV table ({came(error)})") from error
    if {"orig_text", "adv_text"} & set(table) or {"query_noun"} & set(table):
        _check_texts(table.rename(columns=RENAMED), file)
        return []
    table = table.rename(columns={k: v for k, v in RENAMED.items() if v not in table})
    if lost := [c for c in NEEDED if c not in table]:
        raise GeoBenchError(f"{file.name}: expected per-target records with {', '.join(lost)}")
    return [_row(row, file, number) for number, row in enumerate(table.to_dict("records"), 2)]


def _check_texts(table, file: Path) -> None:
    """Refuse an edited text without its original."""
    for row in table.to_dict("records") if "orig_text" in table else ():
        if not isinstance(row["orig_text"], str) or not row["orig_text"].strip():
            raise GeoBenchError(f"{named(row | {'file': file.name})}: missing original: orig_text is empty")


def _row(row: dict, file: Path, number: int) -> dict:
    where = f"{file.name} line {number}"
    check_method(row["variant"], where)
    for key in (k for k in ("dataset", "list", "ranker") if k in row):
        if not isinstance(row[key], str) or not row[key].strip():
            raise GeoBenchError(f"{where}: expected a {key}, got {came(row[key])}")
    head: dict = {"file": file.name, "ranker": row.get("ranker") or _ranker(file, row["variant"]), "run": 1}
    head |= {k: row[k] for k in ("variant", "dataset", "list")}
    numbers = {k: _number(row, k, named(head | {"target": row["target"]})) for k in ("target", "L", "r_before", "r_after")}
    if broken := [k for k in ("target", "L") if numbers[k] != int(numbers[k])]:
        raise GeoBenchError(f"{named(head | {'target': row['target']})}: {broken[0]}: expected a whole number, got {came(row[broken[0]])}")
    head |= {"target": int(numbers["target"]), "L": int(numbers["L"])}
    name = named(head)
    require_list(head["dataset"], head["list"], where)
    if head["L"] < 2 or not 1 <= head["target"] <= head["L"]:
        raise GeoBenchError(f"{name}: expected a target from 1 to L, in a list of L >= 2 items; L is {head['L']}")
    for side in ("before", "after"):
        check_ranks([numbers[f"r_{side}"]], head["L"], f"{name}: r_{side}")
        _check_median(row.get(f"ranks_{side}"), numbers[f"r_{side}"], head["L"], f"{name}: ranks_{side}")
    _check_derived(row, numbers, name)
    kvr = _number(row, "kvr", name) if "kvr" in row else math.nan
    if kvr > 1 or kvr < 0:
        raise GeoBenchError(f"{name}: kvr: expected a number from 0 to 1, got {came(row['kvr'])}")
    return head | {"r_before": numbers["r_before"], "r_after": numbers["r_after"], "kvr": kvr, "suffix": ""}


def _ranker(file: Path, variant: str) -> str:
    """The ranker in `per_instance_<ranker>_<method>`; a file of another name says none."""
    head, _, rest = file.stem.partition("per_instance_")
    return (rest.removesuffix(str(variant)).strip("_") if not head else "") or "unknown"


def _number(row: dict, key: str, name: str) -> float:
    """A finite number of the row."""
    try:
        value = float(row[key])
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        kind = "missing original: " if key == "r_before" else ""
        raise GeoBenchError(f"{name}: {kind}{key}: expected a number, got {came(row[key])}")
    return value


def _check_median(text, stored: float, size: int, what: str) -> None:
    """The list of ranks, if kept, is within range and has the stored median."""
    if text is None or (isinstance(text, float) and math.isnan(text)):
        return
    try:
        ranks = parse_json(text)
    except (TypeError, ValueError):
        ranks = None
    median = float(np.median(check_ranks(ranks, size, what, whole=True)))
    if median != stored:
        raise GeoBenchError(f"{what}: median {median:g}, but the record says {stored:g}")


def _check_derived(row: dict, numbers: dict, name: str) -> None:
    before, after, size = numbers["r_before"], numbers["r_after"], numbers["L"]
    ours = {"nrg": float(nrg(before, after, size)), "success@0.1": int(success(after, size, 0.1)),
            "promote@0.1": int(promote(before, after, size, 0.1))}  # fmt: skip
    for key, slack in DERIVED.items():
        if key in row and abs(_number(row, key, name) - ours[key]) > slack + 1e-9:
            raise GeoBenchError(f"{name}: {key}: ranks give {ours[key]:.6g}, but the record says {row[key]}")
