"""How alike two rankers, or two data sets, order the variants: Spearman's rank correlation."""

import math

from geobench.errors import GeoBenchError

LEAST = 5  # variants: of two, chance gives 1 or -1; of five, it gives 0.9 or more with a probability of 1 in 24


def spearman(order_a, order_b) -> float:
    """Spearman's correlation of two Series over their shared index; nan if one is constant, or if fewer than LEAST are shared."""
    from scipy.stats import spearmanr

    shared = order_a.index.intersection(order_b.index)
    a, b = order_a.loc[shared], order_b.loc[shared]
    if a.isna().any() or b.isna().any() or len(a) != len(shared) or len(b) != len(shared):
        raise GeoBenchError("Spearman: expected each index once and no nan in either order")
    return float(spearmanr(a, b).statistic) if len(a) >= LEAST and min(a.nunique(), b.nunique()) > 1 else math.nan


def rank_correlation_table(summary, value: str, by: str = "ranker"):
    """Square table: Spearman's correlation of the variants' means of `value` (from `summarise`) between rankers, or other groups.

    Restricted to variants that have all data: one with fewer targets than another variant of the group is left out.
    """
    import pandas as pd

    part = summary[summary["value"] == value]
    if part.empty or part.duplicated([by, "variant"]).any():
        raise GeoBenchError(f"rank correlations: expected one mean of {value} per {by} and variant")
    if "n_targets" in part:
        part = part[part["n_targets"] == part.groupby(by)["n_targets"].transform("max")]
    means = {name: group.set_index("variant")["mean"] for name, group in part.groupby(by)}
    return pd.DataFrame([[spearman(means[a], means[b]) for b in means] for a in means], list(means), list(means))
