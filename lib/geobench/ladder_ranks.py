"""The evaluation ladder from ranks alone: what selection and single noisy orders do to published traces, without any model.

StealthRank traces rank every checkpoint once. `selection`: the best of all checkpoints, the last one, or the best of every second one,
judged by the checkpoint after it in its row (a new rank of almost the same suffix, and none of those that were searched). `ranks_after`:
that one rank, or the median over the neighbouring checkpoints of its row that the selection allows. `ranks_before`: the first sample
of iteration 0, or the median of all its samples. STS files rank every suffix many times: `selection` picks one of a target's runs by
the ranks that then judge it, or by other ranks; `orders` is one rank or the median of half of them.
"""

import math
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from geobench.lists import read_rows
from geobench.metrics import nrg, promote, success
from geobench.released import origin, record_files, target_row

TRACE_FACTORS = {
    "selection": ("best of all", "last", "held out"),
    "ranks_after": ("one", "median of neighbours"),
    "ranks_before": ("one", "median"),
}
SAMPLE_FACTORS = {"selection": ("on the same ranks", "on other ranks"), "orders": ("one", "median")}


def read_raw(folder: Path, kind: str) -> dict[str, list[dict]]:
    """Raw rows by variant and data set: `trace` rows that have an iteration 0 and another, or `ranks_before` rows that can be halved.

    Rows are checked as `read_released` checks them; a warning counts those with a single checkpoint, or rank before or after.
    """
    found: dict[str, list[dict]] = {}
    for file in (f for f in record_files(folder) if f.suffix == ".jsonl"):
        single = 0
        for number, row in enumerate(read_rows(file), 1):
            head = target_row(row, origin(file), number)
            if kind not in row or (kind == "trace" and math.isnan(head["r_before"])):
                continue
            ranked = [{step["iteration"] for step in row["trace"]}] if kind == "trace" else [row["ranks_before"], row["ranks_after"]]
            if min(map(len, ranked)) < 2:
                single += 1
                continue
            found.setdefault(f"{head['variant']}, {head['dataset']}", []).append(row | head)
        if single:
            what = "checkpoint" if kind == "trace" else "rank"
            warnings.warn(f"{file.name}: {single} records with a single {what} cannot be halved; the ladder leaves them out", stacklevel=2)
    return found


def trace_table(rows: list[dict], config: dict):
    """Per-target table of StealthRank traces under one configuration of TRACE_FACTORS."""
    return _table((row, *_trace_ranks(_grid(row), config)) for row in rows)


def sample_table(rows: list[dict], config: dict):
    """Per-target table of STS rank samples under one configuration of SAMPLE_FACTORS (`selection` may also be "none": all runs)."""
    runs: dict[tuple, list[dict]] = {}
    for row in rows:
        runs.setdefault((row["dataset"], row["list"], row["target"]), []).append(row)
    return _table((group[0], *_sample_ranks(group, config)) for _, group in sorted(runs.items()))


def _table(found):
    import pandas as pd

    out = []
    for row, before, after in found:
        size = row["L"]
        before, after = np.atleast_1d(before), np.atleast_1d(after)
        out.append({
            "dataset": row["dataset"], "list": row["list"], "target": row["target"], "nrg": nrg(before, after, size).mean(),
            "success@0.1": success(after, size, 0.1).mean(), "promote@0.1": promote(before, after, size, 0.1).mean(),
        })  # fmt: skip
    return pd.DataFrame(out)


def _grid(row: dict) -> np.ndarray:
    """Ranks, checkpoints x rows of the batch, in order of iteration; a torn last checkpoint is filled with the row's last rank."""
    steps: dict[int, list] = {}
    for step in row["trace"]:
        steps.setdefault(step["iteration"], []).append(step["rank"])
    width = max(map(len, steps.values()))
    return np.array([(ranks + [ranks[-1]] * width)[:width] for _, ranks in sorted(steps.items())], dtype=float)


def _trace_ranks(grid: np.ndarray, config: dict) -> tuple[float, float]:
    before = grid[0, 0] if config["ranks_before"] == "one" else float(np.median(grid[0]))
    searched = 2 if config["selection"] == "held out" else 1  # every which checkpoint is
    if config["selection"] == "last":
        at = len(grid) - 1, 0
    else:
        at = divmod(int(grid[::searched].argmin()), grid.shape[1])  # row by row: the earliest on ties
    column, here = grid[:, at[1]], int(at[0]) * searched
    places = (here + 1, here - 1, here + 3, here - 3) if searched == 2 else (here, here + 1, here - 1, here + 2, here - 2)
    judges = [n for n in places if 0 <= n < len(column)][: 1 if config["ranks_after"] == "one" else None]
    return float(before), float(np.median(column[judges]))


def _sample_ranks(runs: list[dict], config: dict):
    """Ranks before and after of the chosen run: arrays of one, or of all runs for selection "none"."""
    ranks = [[np.asarray(run[f"ranks_{side}"], float) for side in ("before", "after")] for run in runs]
    seen, judge = ([[_point(half(side), config) for side in run] for run in ranks] for half in (_first_half, _second_half))
    if config["selection"] == "none":
        return np.array(judge).T
    chosen_by = judge if config["selection"] == "on the same ranks" else seen
    return judge[min(range(len(runs)), key=lambda n: chosen_by[n][1])]


def _first_half(ranks: np.ndarray) -> np.ndarray:
    return ranks[: len(ranks) // 2]


def _second_half(ranks: np.ndarray) -> np.ndarray:
    return ranks[len(ranks) // 2 :]


def _point(ranks: np.ndarray, config: dict) -> float:
    return float(ranks[0] if config["orders"] == "one" else np.median(ranks))


def rank_ladders(folder: Path, resamples: int = 5000, seed: int = 0, inference: str = "t"):
    """The ladders of every trace and sample file of a folder, one under the other: `texts` (variant, data set) then ladder's columns;
    no rows where the folder has no such file."""
    import pandas as pd

    from geobench.ladder import COLUMNS, ladder

    parts = []
    for kind, factors, table in (("trace", TRACE_FACTORS, trace_table), ("ranks_before", SAMPLE_FACTORS, sample_table)):
        for texts, rows in sorted(read_raw(folder, kind).items()):
            made = ladder(factors, partial(table, rows), resamples=resamples, seed=seed, inference=inference)
            made.insert(3, "settings", made[list(factors)].agg("; ".join, axis=1))
            parts.append(made.drop(columns=list(factors)).assign(texts=texts))
    if not parts:
        return pd.DataFrame(columns=["texts", *COLUMNS])
    return pd.concat(parts, ignore_index=True)[["texts", *parts[0].columns.drop("texts")]]


def selections(folder: Path):
    """NRG and Success@0.1 of each StealthRank file under best of all, last and held-out selection: plain means over targets.

    No rows where the folder has no such file.
    """
    import pandas as pd

    rows = []
    for texts, raw in sorted(read_raw(folder, "trace").items()):
        for selection in ("best of all", "last", "held out"):
            config = {"selection": selection, "ranks_after": "one", "ranks_before": "one"}
            means = trace_table(raw, config)[["nrg", "success@0.1", "promote@0.1"]].mean()
            rows.append({"texts": texts, "selection": selection, **means})
    return pd.DataFrame(rows, columns=["texts", "selection", "nrg", "success@0.1", "promote@0.1"])
