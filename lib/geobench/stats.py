"""Means over targets with 95 % intervals, and paired differences.

Targets of one list share their clean ranking, so lists are the independent units, and the mean is the equal-weight mean of the data sets'
means (or of all targets). `inference` says how sure it is:
- `t` (default): Welch's t on list means within data sets (`welch`);
- `published`: as the papers. Lists are resampled within each data set (5,000 times), percentile intervals, normal tests. All resamples are
  one matrix product: how often each list was drawn, times each list's sums. Draws depend on the seed, the data set's name and its number
  of lists only, so variants, rankers and values over the same lists share them. With few lists it is too sure: `benchmarks/coverage.py`.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np

from geobench.errors import GeoBenchError
from geobench.resampling import list_sums, resampled_means
from geobench.welch import contributions, p_values, t_ends, welch, without_rounding

KEY = ["dataset", "list", "target"]
PERCENTILES = (2.5, 97.5)
INFERENCES = ("t", "published")
NO_TEST = "no test: the lists of each data set give the same difference"


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval, standard error and degrees of freedom (nan where there is none: `note` says why; or of the normal)."""

    mean: float
    lo: float
    hi: float
    se: float
    n_targets: int
    n_lists: int
    n_datasets: int
    note: str = ""
    df: float = math.nan


def cluster_mean(table, value: str, resamples: int = 5000, seed: int = 0, weighting: str = "dataset", inference: str = "t") -> Estimate:
    """Mean of a column of a per-target table, with its interval from lists within data sets.

    `weighting`: "dataset" (equal data sets) or "target" (equal targets); `resamples` and `seed` are those of inference `published`. A data
    set of one list adds its mean but no variance; where no data set has two there is no interval. GeoBenchError for nan, a repeated target
    or no rows.
    """
    return estimates(table, [value], resamples, seed, weighting, inference)[0]


def summarise(per_target, values, by=("ranker", "variant"), resamples=5000, seed=0, weighting="dataset", inference="t"):
    """One row per group and value: `by`, value, then the fields of Estimate, groups in sorted order.

    `note` also names the data sets, or counts the targets, that a group lacks and another group has.
    """
    import pandas as pd

    by, values = list(by), list(values)
    _check(per_target, [*KEY, *by, *values], [*dict.fromkeys([*by, *KEY])])
    targets, rows = set(map(tuple, per_target[KEY].drop_duplicates().to_numpy())), []
    for group, part in per_target.groupby(by, sort=True):
        names = dict(zip(by, group, strict=True))
        scope = {
            t for t in targets if all(names.get(column, at) == at for column, at in zip(KEY, t, strict=True))
        }
        lacks = _lacks(set(map(tuple, part[KEY].to_numpy())), scope)
        for value, estimate in zip(values, estimates(part, values, resamples, seed, weighting, inference), strict=True):
            note = "; ".join(filter(None, [estimate.note, lacks]))
            rows.append({**names, "value": value, **asdict(estimate), "note": note})
    return pd.DataFrame(rows)


def paired_difference(table_a, table_b, value: str, resamples=5000, seed=0, weighting="dataset", inference="t") -> Estimate:
    """Mean of a - b over the targets that both tables have, as `cluster_mean` of the differences.

    `note` counts targets that only one table has. GeoBenchError if they share none.
    """
    for table in (table_a, table_b):
        _check(table, [*KEY, value], KEY)
    both = table_a[[*KEY, value]].merge(table_b[[*KEY, value]], on=KEY, suffixes=("_a", "_b"))
    if both.empty:
        raise GeoBenchError(f"paired difference of {value}: the two tables share no target")
    both["difference"] = both[f"{value}_a"] - both[f"{value}_b"]
    estimate = cluster_mean(both, "difference", resamples, seed, weighting, inference)
    alone = [len(table) - len(both) for table in (table_a, table_b)]
    note = f"left out {alone[0]} targets of the first table, {alone[1]} of the second" if any(alone) else ""
    return Estimate(**{**asdict(estimate), "note": "; ".join(filter(None, [estimate.note, note]))})


def p_value(estimate: Estimate) -> float:
    """Two-sided p of mean = 0; nan without a standard error, and where nothing differs but the mean is not 0 (`NO_TEST` says why)."""
    return float(p_values(estimate.mean, estimate.se, estimate.df))


def described(inference: str, unit: str = "lists") -> str:
    """How intervals were made, for a caption; unit: what is independent."""
    words = {"t": f"Welch's t over {unit}", "published": f"percentiles over resampled {unit}, as published"}
    return f"95 % intervals: {words[inference]}."


def require_inference(inference: str) -> None:
    """GeoBenchError for another inference than `t` and `published`."""
    if inference not in INFERENCES:
        raise GeoBenchError(f"statistics: expected inference `t` or `published`, got {inference!r}")


def _check(table, columns: list[str], unique: list[str]) -> None:
    """Columns and rows there, no nan among them, and each target once."""
    if lost := [column for column in columns if column not in table]:
        raise GeoBenchError(f"statistics: expected a per-target table with {', '.join(lost)}")
    if table.empty:
        raise GeoBenchError("statistics: the per-target table has no rows")
    holes = table[columns].isna().any(axis=1)
    for bad, why in (
        (holes, f"nan in one of {', '.join(columns)}"),
        (table.duplicated(unique), "this target comes twice"),
    ):
        if bad.any():
            row = table[bad].iloc[0]
            where = " ".join(str(row[k]) for k in ("ranker", "variant", *KEY) if k in row)
            raise GeoBenchError(f"statistics: {where}: {why}")


def estimates(table, values: list[str], resamples: int, seed: int, weighting: str, inference: str) -> list[Estimate]:
    """`cluster_mean` of several columns at once."""
    require_inference(inference)
    _check(table, [*KEY, *values], KEY)
    keys, numbers = table[["dataset", "list"]].astype(str).to_numpy(), table[values].to_numpy(float)
    if inference == "published":
        means, sizes = resampled_means(keys, numbers, resamples, seed, weighting)
        return [estimate_of(means[0, k], *_drawn(means[1:, k], sizes), sizes, len(table)) for k in range(len(values))]
    sums, sizes, _ = list_sums(keys, numbers, weighting)
    made, residuals = contributions(sums, sizes, weighting)
    mean, (se, df) = made.sum(axis=0), welch(residuals, sizes)
    return [estimate_of(*row, sizes, len(table)) for row in zip(mean, *t_ends(mean, se, df), se, df)]


def _drawn(means: np.ndarray, sizes: dict[str, int]) -> tuple[float, float, float, float]:
    """(lo, hi, se, df) from resampled means."""
    if set(sizes.values()) == {1}:
        return (math.nan,) * 4
    return *np.percentile(means, PERCENTILES), without_rounding(means.std(ddof=1)), math.nan


def estimate_of(mean, lo, hi, se, df, sizes: dict[str, int], targets: int) -> Estimate:
    """Estimate from its figures and the lists of each data set; the note says where one has a single list."""
    single = [dataset for dataset, lists in sizes.items() if lists == 1]
    note = f"no variance between lists from {', '.join(single)} (one list)" if single else ""
    if len(single) == len(sizes):
        note = f"no interval: one list in {', '.join(single)}"
    return Estimate(*map(float, (mean, lo, hi, se)), targets, sum(sizes.values()), len(sizes), note, float(df))


def _lacks(have: set[tuple], want: set[tuple]) -> str:
    """Which targets of all targets a group lacks, in words."""
    missing = sorted(want - have)
    if not missing:
        return ""
    gone = sorted({dataset for dataset, *_ in want} - {dataset for dataset, *_ in have})
    data = f", none of {', '.join(gone)}" if gone else ""
    return f"{len(missing)} of {len(want)} targets missing (first {'/'.join(map(str, missing[0]))}){data}"
