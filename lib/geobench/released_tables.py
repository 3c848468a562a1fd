"""Tables from imported rows: one row per target with our metrics, and the row per variant and data set that papers print."""

import numpy as np

from geobench.metrics import LEVEL, nrg, promote, success

UNIT = ["variant", "ranker", "dataset", "list", "target"]


def per_target(rows, levels=()):
    """Per-target table (as metrics.per_target, plus kvr and `runs`) from `released.read_released`; runs of one target are averaged.

    Where a format has no rank before, r_before, nrg and promote@a are nan.
    """
    table = rows[[*UNIT, "L", "r_before", "r_after", "kvr"]].copy()
    before, after, size = (table[c].to_numpy(float) for c in ("r_before", "r_after", "L"))
    table["nrg"] = nrg(before, after, size)
    for a in dict.fromkeys((LEVEL, *levels)):
        table[f"success@{a:g}"] = success(after, size, a)
        table[f"promote@{a:g}"] = np.where(np.isnan(before), np.nan, promote(np.nan_to_num(before, nan=0), after, size, a))
    groups = table.groupby(UNIT, sort=True)
    return groups.mean().assign(runs=groups.size()).reset_index()


def released_table(targets):
    """variant, dataset, n (targets), nrg, success@a, promote@a, kvr: plain means over targets; a variant that two rankers ranked
    is named with its ranker."""
    rankers = targets.groupby(["variant", "dataset"])["ranker"].transform("nunique")
    variant = targets["variant"].where(rankers == 1, targets["variant"] + " @ " + targets["ranker"])
    values = ["nrg", *(c for kind in ("success@", "promote@") for c in sorted(targets) if c.startswith(kind)), "kvr"]
    groups = targets.assign(variant=variant).groupby(["variant", "dataset"], sort=True)
    table = groups[values].agg(lambda column: column.mean(skipna=False))
    table.insert(0, "n", groups.size())
    return table.reset_index()


def gaps(targets) -> list[str]:
    """One sentence per variant and data set without ranks before."""
    lost = targets[targets["r_before"].isna()].groupby(["variant", "dataset"]).size()
    return [f"{v}, {d}: {n} targets have no rank before, so no NRG and no promotion" for (v, d), n in lost.items()]
