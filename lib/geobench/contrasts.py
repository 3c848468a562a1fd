"""Paired contrasts of all variants: who gains more, on the same targets, under the same resamples of lists.

Contrast of a and b: mean of a - b over the targets that both have (equal data sets or equal targets), percentile interval and
standard error from the list-cluster bootstrap of `stats`, two-sided Wald test, Holm over all pairs. All pairs share one product
of resample counts with per-list sums, because the resampled mean of a difference is the difference of the resampled means.
"""

from itertools import combinations

import numpy as np

from geobench.errors import GeoBenchError
from geobench.stats import KEY, PERCENTILES, _check, resampled_means

COLUMNS = ["a", "b", "mean", "lo", "hi", "se", "p", "p_holm", "n_targets", "n_lists", "n_datasets", "note"]


def contrast_table(table, value: str, resamples: int = 5000, seed: int = 0, weighting: str = "dataset", holm: bool = True):
    """One row per pair of variants (a before b in alphabetical order): COLUMNS, p_holm over all pairs that have a p.

    table: variant, dataset, list, target and `value`. `note` counts targets that only one of the two has, names data sets that a
    pair lacks and data sets of one list; a pair without a shared target has nan and says so. GeoBenchError as in `stats`.
    """
    import pandas as pd

    _check(table, ["variant", *KEY, value], ["variant", *KEY])
    wide = table.pivot(index=KEY, columns="variant", values=value)
    if wide.shape[1] < 2:
        raise GeoBenchError(f"contrasts of {value}: expected two variants or more, got {', '.join(wide.columns)}")
    keys = wide.index.to_frame()[["dataset", "list"]].astype(str).to_numpy()
    rows = paired_contrasts(list(wide.columns), keys, wide.to_numpy(float), resamples, seed, weighting)
    out = pd.DataFrame(rows, columns=[c for c in COLUMNS if c not in ("p", "p_holm")])
    out["p"] = wald_ps(out["mean"], out["se"])
    out["p_holm"] = holm_ps(out["p"]) if holm else np.nan
    return out[COLUMNS]


def paired_contrasts(variants: list[str], keys, numbers, resamples: int, seed: int, weighting: str = "dataset") -> list[tuple]:
    """COLUMNS without p per pair, in order. keys: targets x 2 (data set, list); numbers: targets x variants, nan where missing.

    Pairs with the same shared targets are computed together.
    """
    have = ~np.isnan(numbers)
    groups: dict[bytes, list[tuple[int, int]]] = {}
    for pair in combinations(range(len(variants)), 2):
        groups.setdefault(np.packbits(have[:, pair[0]] & have[:, pair[1]]).tobytes(), []).append(pair)
    found: dict = {}
    for pairs in groups.values():
        first, second = np.array(pairs).T
        both = have[:, first[0]] & have[:, second[0]]
        if not both.any():
            found |= {pair: (np.nan,) * 4 + (0, 0, 0, "no interval: the two variants share no target") for pair in pairs}
            continue
        means, sizes = resampled_means(keys[both], np.where(both[:, None], np.nan_to_num(numbers), 0)[both], resamples, seed, weighting)
        figures = _differences(_subtract(np.ascontiguousarray(means.T), first, second), sizes)
        alone = (have & ~both[:, None]).sum(axis=0)
        said = _said(sizes, sorted({d for d, _ in keys} - set(sizes)))
        for (a, b), row in zip(pairs, figures.T.tolist()):
            left = [f"left out {alone[a]} targets of a, {alone[b]} of b"] if alone[a] or alone[b] else []
            found[a, b] = (*row, int(both.sum()), sum(sizes.values()), len(sizes), "; ".join(said + left))
    return [(variants[a], variants[b], *found[a, b]) for a, b in combinations(range(len(variants)), 2)]


def _subtract(means, first, second) -> np.ndarray:
    """pairs x (1 + resamples) from variants x (1 + resamples), without a copy of either side."""
    out = np.empty((len(first), means.shape[1]))
    for row, a, b in zip(out, first, second):
        np.subtract(means[a], means[b], out=row)
    return out


def _differences(differences, sizes: dict) -> np.ndarray:
    """4 x pairs: mean, lo, hi, se from pairs x (1 + resamples)."""
    mean, drawn = differences[:, 0], differences[:, 1:]
    if set(sizes.values()) == {1}:
        return np.stack([mean, *[np.full(len(mean), np.nan)] * 3])
    spread = drawn.std(axis=1, ddof=1)
    drawn.sort(axis=1)
    place = np.array(PERCENTILES) / 100 * (drawn.shape[1] - 1)
    below = place.astype(int)
    low, high = (drawn[:, below] + (drawn[:, below + 1] - drawn[:, below]) * (place - below)).T
    return np.stack([mean, low, high, spread])


def _said(sizes: dict, gone: list[str]) -> list[str]:
    """What a reader must know before comparing these pairs with others."""
    single = [dataset for dataset, lists in sizes.items() if lists == 1]
    kind = "no interval" if len(single) == len(sizes) else "no variance between lists"
    parts = [f"{kind}: one list in {', '.join(single)}"] if single else []
    return parts + ([f"none of {', '.join(gone)}"] if gone else [])


def wald_ps(mean, se) -> np.ndarray:
    """Two-sided normal p of mean / se; 1 where both are 0, 0 where only se is, nan where se is."""
    from scipy.special import erfc

    mean, se = np.asarray(mean, float), np.asarray(se, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = erfc(np.abs(mean / se) / np.sqrt(2))
    return np.where(np.isnan(se), np.nan, np.where((se == 0) & (mean == 0), 1.0, p))


def holm_ps(p) -> np.ndarray:
    """Holm-adjusted p over the ones that are no nan (statsmodels)."""
    from statsmodels.stats.multitest import multipletests

    p = np.asarray(p, float)
    out, known = np.full(len(p), np.nan), ~np.isnan(p)
    if known.any():
        out[known] = multipletests(p[known], method="holm")[1]
    return out
