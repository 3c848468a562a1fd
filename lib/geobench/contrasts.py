"""Paired contrasts of all variants: who gains more, on the same targets, under the same resamples of lists.

Contrast of a and b: mean of a - b over the targets that both have (equal data sets or equal targets), percentile interval and
standard error from the list-cluster bootstrap of `stats`, two-sided Wald test, Holm over all pairs. All pairs share one product
of resample counts with per-list sums, because the resampled mean of a difference is the difference of the resampled means.
"""

from itertools import combinations

import numpy as np

from geobench.errors import GeoBenchError
from geobench.resampling import resampled_means
from geobench.stats import KEY, NO_SPREAD, NO_TEST, PERCENTILES, _check, without_rounding

COLUMNS = ["a", "b", "mean", "lo", "hi", "se", "p", "p_holm", "n_targets", "n_lists", "n_datasets", "note"]


def contrast_table(table, value: str, resamples: int = 5000, seed: int = 0, weighting: str = "dataset", holm: bool = True):
    """One row per pair of variants (a before b in alphabetical order): COLUMNS, p_holm over all pairs that have a p.

    table: variant, dataset, list, target and `value`. `note` counts targets that only one of the two has, names data sets that a
    pair lacks and data sets of one list, and pairs without a test; a pair without a shared target has nan and says so.
    GeoBenchError as in `stats`.
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
    untested = out["p"].isna() & out["se"].notna()
    out.loc[untested, "note"] = [f"{NO_TEST}; {note}".removesuffix("; ") for note in out.loc[untested, "note"]]
    return out[COLUMNS]


def paired_contrasts(variants: list[str], keys, numbers, resamples: int, seed: int, weighting: str = "dataset") -> list[tuple]:
    """COLUMNS without p per pair, in order. keys: targets x 2 (data set, list); numbers: targets x variants, nan where missing.

    Pairs with the same shared targets are computed together.
    """
    have = ~np.isnan(numbers)
    kinds = [have[:, n].tobytes() for n in range(len(variants))]  # variants that have the same targets
    groups: dict[bytes, list[tuple[int, int]]] = {}
    joint: dict[tuple[bytes, bytes], bytes] = {}
    for a, b in combinations(range(len(variants)), 2):
        if (kind := (kinds[a], kinds[b])) not in joint:
            joint[kind] = (have[:, a] & have[:, b]).tobytes()
        groups.setdefault(joint[kind], []).append((a, b))
    found: dict = {}
    for pairs in groups.values():
        both = have[:, pairs[0][0]] & have[:, pairs[0][1]]
        if not both.any():
            found |= {pair: (np.nan,) * 4 + (0, 0, 0, "no interval: the two variants share no target") for pair in pairs}
            continue
        means, sizes = resampled_means(keys[both], np.where(both[:, None], np.nan_to_num(numbers), 0)[both], resamples, seed, weighting)
        figures = _differences(means, pairs, sizes)
        alone = (have & ~both[:, None]).sum(axis=0).tolist()
        said = _said(sizes, sorted({d for d, _ in keys} - set(sizes)))
        counts = (int(both.sum()), sum(sizes.values()), len(sizes))
        for (a, b), row in zip(pairs, figures.T.tolist()):
            left = [f"left out {alone[a]} targets of a, {alone[b]} of b"] if alone[a] or alone[b] else []
            found[a, b] = (*row, *counts, "; ".join(said + left))
    return [(variants[a], variants[b], *found[a, b]) for a, b in combinations(range(len(variants)), 2)]


def _differences(means, pairs: list[tuple[int, int]], sizes: dict) -> np.ndarray:
    """4 x pairs: mean, lo, hi, se of first minus second. means: (1 + resamples) x variants, row 0 the data's own; pairs in order.

    The resampled means are centred per variant first (in place), so that a difference's sum of squares needs no second pass; one
    first variant's pairs at a time, in a buffer that stays in the cache.
    """
    first, second = np.array(pairs).T
    mean = means[0, first] - means[0, second]
    if set(sizes.values()) == {1}:
        return np.stack([mean, *[np.full(len(pairs), np.nan)] * 3])
    centre = means[1:].mean(axis=0)
    means[1:] -= centre
    drawn = means[1:].T
    count = drawn.shape[1]
    place = np.array(PERCENTILES) / 100 * (count - 1)
    below = place.astype(int)
    ends, squares = np.empty((len(pairs), 2)), np.empty(len(pairs))
    buffer = np.empty((min(len(pairs), len(drawn)), count))
    for a in np.unique(first):
        rows = np.flatnonzero(first == a)
        block = np.subtract(drawn[a], drawn[second[rows]], out=buffer[: len(rows)])
        squares[rows] = np.einsum("ij,ij->i", block, block)
        low, high = _neighbours(block, below)
        ends[rows] = low + (high - low) * (place - below)
    ends += (centre[first] - centre[second])[:, None]
    return np.stack([mean, *ends.T, without_rounding(np.sqrt(squares / (count - 1)))])


def _neighbours(block: np.ndarray, below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per row the values at the two places `below`, and those at the next ones, in order of size; reorders the rows.

    Two selections instead of a sort: the smallest `below[0] + 1` values first, then the two at the far end from what is left.
    """
    near, far = int(below[0]) + 1, int(below[1])
    if far <= near:
        block.sort(axis=1)
        return block[:, below], block[:, below + 1]
    block.partition(near, axis=1)
    rest = block[:, near + 1 :]
    rest.partition(far - near - 1, axis=1)
    low = np.stack([block[:, :near].max(axis=1), rest[:, far - near - 1]], axis=1)
    return low, np.stack([block[:, near], rest[:, far - near :].min(axis=1)], axis=1)


def _said(sizes: dict, gone: list[str]) -> list[str]:
    """What a reader must know before comparing these pairs with others."""
    single = [dataset for dataset, lists in sizes.items() if lists == 1]
    kind = "no interval" if len(single) == len(sizes) else "no variance between lists"
    parts = [f"{kind}: one list in {', '.join(single)}"] if single else []
    return parts + ([f"none of {', '.join(gone)}"] if gone else [])


def wald_ps(mean, se) -> np.ndarray:
    """Two-sided normal p of mean / se, as `stats.wald_p`: without spread 1 where the mean is 0, else nan; nan where se is."""
    from scipy.special import erfc

    mean, se = np.asarray(mean, float), np.asarray(se, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = erfc(np.abs(mean / se) / np.sqrt(2))
    return np.where(se <= NO_SPREAD, np.where(np.abs(mean) <= NO_SPREAD, 1.0, np.nan), p)


def holm_ps(p) -> np.ndarray:
    """Holm-adjusted p over the ones that are no nan (statsmodels)."""
    from statsmodels.stats.multitest import multipletests

    p = np.asarray(p, float)
    out, known = np.full(len(p), np.nan), ~np.isnan(p)
    if known.any():
        out[known] = multipletests(p[known], method="holm")[1]
    return out
