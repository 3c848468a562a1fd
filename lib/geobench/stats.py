"""Means over targets with list-cluster bootstrap intervals, and paired differences.

Targets of one list share their clean ranking, so lists are resampled, within each data set (paper: 5,000
times), and the mean is the equal-weight mean of the data sets' means. All resamples are one matrix product:
how often each list was drawn, times each list's sums. Draws depend on the seed, the data set's name and its
number of lists only, so variants, rankers and values over the same lists share them. Intervals are 95 %
percentile intervals.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np

from geobench.errors import GeoBenchError
from geobench.resampling import resampled_means

KEY = ["dataset", "list", "target"]
PERCENTILES = (2.5, 97.5)
NO_SPREAD = 1e-12  # a bootstrap standard error up to this is rounding: every resample gave the same mean
NO_TEST = "no test: every resample of lists gives the same difference"


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval and bootstrap standard error (nan where there is none: `note` says why)."""

    mean: float
    lo: float
    hi: float
    se: float
    n_targets: int
    n_lists: int
    n_datasets: int
    note: str = ""


def cluster_bootstrap(
    table, value: str, resamples: int = 5000, seed: int = 0, weighting: str = "dataset"
) -> Estimate:
    """Mean of a column of a per-target table, with its interval from resampling lists within data sets.

    `weighting`: "dataset" (equal data sets) or "target" (equal targets). A data set of one list keeps its
    mean in every resample; where no data set has two there is no interval. GeoBenchError for nan, a repeated
    target or no rows.
    """
    return _bootstrap(table, [value], resamples, seed, weighting)[0]


def summarise(per_target, values, by=("ranker", "variant"), resamples=5000, seed=0, weighting="dataset"):
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
        for value, estimate in zip(values, _bootstrap(part, values, resamples, seed, weighting), strict=True):
            note = "; ".join(filter(None, [estimate.note, lacks]))
            rows.append({**names, "value": value, **asdict(estimate), "note": note})
    return pd.DataFrame(rows)


def paired_difference(table_a, table_b, value: str, resamples=5000, seed=0, weighting="dataset") -> Estimate:
    """Mean of a - b over the targets that both tables have, with the same resamples as `cluster_bootstrap`.

    `note` counts targets that only one table has. GeoBenchError if they share none.
    """
    for table in (table_a, table_b):
        _check(table, [*KEY, value], KEY)
    both = table_a[[*KEY, value]].merge(table_b[[*KEY, value]], on=KEY, suffixes=("_a", "_b"))
    if both.empty:
        raise GeoBenchError(f"paired difference of {value}: the two tables share no target")
    both["difference"] = both[f"{value}_a"] - both[f"{value}_b"]
    estimate = cluster_bootstrap(both, "difference", resamples, seed, weighting)
    alone = [len(table) - len(both) for table in (table_a, table_b)]
    note = f"left out {alone[0]} targets of the first table, {alone[1]} of the second" if any(alone) else ""
    return Estimate(**{**asdict(estimate), "note": "; ".join(filter(None, [estimate.note, note]))})


def without_rounding(se):
    """Standard errors, 0 where they are nothing but rounding (`NO_SPREAD`)."""
    return np.where(se <= NO_SPREAD, 0.0, se)


def wald_p(estimate: Estimate) -> float:
    """Two-sided p of mean = 0 from mean / se under the normal; nan without a standard error.

    Where no resample differs from another there is no test: p is 1 for a mean of 0, else nan (`NO_TEST` says why).
    """
    if estimate.se <= NO_SPREAD:
        return 1.0 if abs(estimate.mean) <= NO_SPREAD else math.nan
    return math.erfc(abs(estimate.mean / estimate.se) / math.sqrt(2))


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


def _bootstrap(table, values: list[str], resamples: int, seed: int, weighting: str) -> list[Estimate]:
    """Estimates of several columns from the same draws."""
    _check(table, [*KEY, *values], KEY)
    keys = table[["dataset", "list"]].astype(str).to_numpy()
    means, sizes = resampled_means(keys, table[values].to_numpy(float), resamples, seed, weighting)
    return [_estimate(means[:, k], sizes, len(table)) for k in range(len(values))]


def _estimate(means: np.ndarray, sizes: dict[str, int], targets: int) -> Estimate:
    """Estimate from the mean (first) and its resamples."""
    single = [dataset for dataset, lists in sizes.items() if lists == 1]
    note = f"no variance between lists from {', '.join(single)} (one list)" if single else ""
    if len(single) == len(sizes):
        lo = hi = se = math.nan
        note = f"no interval: one list in {', '.join(single)}"
    else:
        lo, hi = np.percentile(means[1:], PERCENTILES)
        se = without_rounding(means[1:].std(ddof=1))
    return Estimate(
        float(means[0]), float(lo), float(hi), float(se), targets, sum(sizes.values()), len(sizes), note
    )


def _lacks(have: set[tuple], want: set[tuple]) -> str:
    """Which targets of all targets a group lacks, in words."""
    missing = sorted(want - have)
    if not missing:
        return ""
    gone = sorted({dataset for dataset, *_ in want} - {dataset for dataset, *_ in have})
    data = f", none of {', '.join(gone)}" if gone else ""
    return f"{len(missing)} of {len(want)} targets missing (first {'/'.join(map(str, missing[0]))}){data}"
