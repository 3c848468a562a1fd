"""Other people's raw outputs as our per-target rows: StealthRank and RAF traces, STS rank samples, per-target CSV records.

A trace (JSON lines: list, target, trace of {iteration, rank, suffix}) counts as the first paper counts it: "after" is the
checkpoint with the best rank, the earliest on ties; "before" is the first sample of iteration 0. RAF files hold no iteration 0,
so RAF rows have no rank before. A list has as many items as the data set's longest (8 for every Ragroll list). STS rows hold
many ranks before and after, whose medians count. KVR is read off the suffix with word boundaries.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geobench import paths
from geobench.detectors.keywords import flag, load_lexicon
from geobench.errors import GeoBenchError, came
from geobench.json_values import require_kinds
from geobench.lists import read_rows
from geobench.released_checks import check_method, check_ranks, known_methods, named
from geobench.released_csv import read_csv
from geobench.released_lists import dataset_of, lengths, require_list

NOT_READ = (".gz", ".zip", ".bz2", ".xz", ".zst", ".tar", ".tgz", ".json", ".ndjson", ".tsv", ".parquet", ".xlsx")
KINDS = {"variant": str, "method": str, "model": str, "dataset": str, "list": str, "target": int, "run": int, "L": int}
UNIT = ["variant", "ranker", "dataset", "list", "target", "run"]


@dataclass(frozen=True)
class Origin:
    """What a file's name says of rows that do not say it themselves: <method>_<model>_<dataset>, the model left out at will."""

    file: str
    method: str | None
    model: str | None
    dataset: str | None


def released_folder(given: str | None = None) -> Path:
    """The folder asked for; else the mirror's `released/` where GEOBENCH_DATA_MIRROR has one; else the embedded samples."""
    if given:
        folder = Path(given) if Path(given).is_absolute() else paths.ROOT / given
        if not folder.is_dir():
            raise GeoBenchError(f"released_dir: expected a folder, got {came(given)}")
        return folder
    mirror = paths.mirror()
    return mirror / "released" if mirror and (mirror / "released").is_dir() else paths.ROOT / "data" / "embedded" / "released"


def record_files(folder: Path) -> list[Path]:
    """The record files of a folder, in alphabetical order; GeoBenchError for one that only unpacking or renaming would make readable."""
    files = sorted(f for f in folder.iterdir() if not f.name.startswith("."))
    if packed := [f.name for f in files if f.suffix.lower() in NOT_READ]:
        raise GeoBenchError(f"{packed[0]}: expected .jsonl or .csv files in {folder}; unpack or convert it, or move it out")
    return [f for f in files if f.suffix in (".jsonl", ".csv")]


def read_released(folder: Path):
    """One row per variant, ranker, target and run: UNIT, L, r_before (nan where the format has none), r_after, kvr, suffix.

    GeoBenchError names the file and record for an unknown variant, a repeated target, a missing original, nan and ranks outside
    1..L+1; and a folder without records, or a file of no known format.
    """
    import pandas as pd

    rows = []
    for file in record_files(folder):
        rows += read_csv(file) if file.suffix == ".csv" else _read_lines(file)
    if not rows:
        raise GeoBenchError(f"{folder}: no records; expected .jsonl traces or per-target .csv files")
    frame = pd.DataFrame(rows)
    twice = frame[frame.duplicated(UNIT)]
    if len(twice):
        raise GeoBenchError(f"{named(twice.iloc[0])}: this target comes twice")
    return frame.sort_values(UNIT, ignore_index=True)


def origin(file: Path) -> Origin:
    """What the name of a trace file says."""
    stem = file.stem
    dataset = next((d for d in sorted(lengths(), key=len, reverse=True) if stem == d or stem.endswith(f"_{d}")), None)
    head = stem.removesuffix(dataset).rstrip("_") if dataset else stem
    method, _, model = head.partition("_")
    named_so = method if method in known_methods() or (dataset and method) else None
    return Origin(file.name, named_so, model or None, dataset)


def _read_lines(file: Path) -> list[dict]:
    source, rows = origin(file), read_rows(file)
    out = [target_row(row, source, number) for number, row in enumerate(rows, 1)]
    if not out:
        raise GeoBenchError(f"{file.name}: holds no records")
    return out


def target_row(row: dict, source: Origin, number: int) -> dict:
    """One JSON record as a per-target row; GeoBenchError names the record and what is wrong with it."""
    where = f"{source.file} line {number}"
    head = head_of(row, source, where)
    name = named(head)
    if "trace" in row:
        before, after, suffix = _from_trace(row["trace"], head, name)
    elif "ranks_before" in row and "ranks_after" in row:
        ranks = [check_ranks(row[k], head["L"], f"{name}: {k}", whole=True) for k in ("ranks_before", "ranks_after")]
        before, after, suffix = float(np.median(ranks[0])), float(np.median(ranks[1])), _text(row.get("suffix"), name)
    else:
        raise GeoBenchError(f"{where}: expected a `trace`, or `ranks_before` and `ranks_after`, got {came(json.dumps(row))}")
    return head | {"r_before": before, "r_after": after, "kvr": float(flag(suffix, load_lexicon())), "suffix": suffix}


def head_of(row: dict, source: Origin, where: str) -> dict:
    """{"variant", "dataset", "list", "target", ...} of a record, from its own fields, else from where its file stood."""
    guess = "stealthrank" if "trace" in row and "model" not in row else "raf" if "trace" in row else "sts"
    require_kinds(row, KINDS, where)
    method, model = row.get("method") or source.method or guess, row.get("model") or source.model
    variant = check_method(row.get("variant") or (f"{method}__{model}" if model else method), where)
    dataset = row.get("dataset") or source.dataset or dataset_of(row.get("list"))
    target, lst = row.get("target"), row.get("list")
    if dataset is None or lst is None:
        raise GeoBenchError(f"{where}: expected a list and its data set (in the row or at the end of the file's name), got {came(lst)}")
    require_list(dataset, lst, where)
    size = row.get("L", lengths().get(dataset))
    if size is None or not 2 <= size <= 10**6:
        raise GeoBenchError(f"{where}: unknown length of the lists of `{dataset}`; give `L` in each row, got {came(size)}")
    head = {"file": source.file, "variant": variant, "ranker": model or "unknown", "dataset": dataset, "list": lst, "target": target,
            "run": row.get("run", 1), "L": size}  # fmt: skip
    if target is None or not 1 <= target <= size:
        raise GeoBenchError(f"{named(head)}: expected a target from 1 to {size}")
    return head


def _from_trace(trace, head: dict, name: str) -> tuple[float, float, str]:
    """(before or nan, best rank, its suffix)."""
    if not isinstance(trace, list) or not trace or not all(isinstance(s, dict) and {"iteration", "rank"} <= set(s) for s in trace):
        raise GeoBenchError(f"{name}: expected a trace of iteration, rank and suffix, got {came(trace)}")
    check_ranks([step["rank"] for step in trace], head["L"], f"{name}: trace", whole=True)
    if odd := [s for s in trace if type(s["iteration"]) is not int]:
        raise GeoBenchError(f"{name}: trace: expected whole numbers as iterations, got {came(odd[0]['iteration'])}")
    first = next((step for step in trace if step["iteration"] == 0), None)
    if first is None and head["variant"].split("__")[0] != "raf":
        raise GeoBenchError(f"{name}: missing original: the trace has no sample of iteration 0")
    best = min(trace, key=lambda step: (step["rank"], step["iteration"]))
    return float(first["rank"]) if first else math.nan, float(best["rank"]), _text(best.get("suffix"), name)


def _text(suffix, name: str) -> str:
    if not isinstance(suffix, str):
        raise GeoBenchError(f"{name}: expected the suffix as text, got {came(suffix)}")
    return suffix
