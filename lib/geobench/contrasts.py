"""Paired contrasts of all variants: who gains more, on the same targets.

Contrast of a and b: mean of a - b over the targets that both have (equal data sets or equal targets), its interval and two-sided p as
`stats` says (`inference`), and a p adjusted over all pairs (`multiplicity`: `max_t` or `holm`, see there). Under `published` all pairs
share one product of resample counts with per-list sums, because the resampled mean of a difference is the difference of the resampled
means.
"""

from itertools import combinations

import numpy as np

from geobench.errors import GeoBenchError
from geobench.multiplicity import chosen, holm_ps, least_p, max_t_ps
from geobench.resampling import list_sums, resampled_means
from geobench.stats import KEY, NO_TEST, PERCENTILES, _check, require_inference
from geobench.welch import contributions, p_values, t_ends, welch, without_rounding

COLUMNS = ["a", "b", "mean", "lo", "hi", "se", "df", "p", "p_adjusted", "n_targets", "n_lists", "n_datasets", "note"]
LEVEL = 0.05


def contrast_table(
    table, value: str, resamples: int = 5000, seed: int = 0, weighting: str = "dataset", inference: str = "t",
    multiplicity: str | None = None,
):  # fmt: skip
    """One row per pair of variants (a before b in alphabetical order): COLUMNS, p_adjusted over all pairs that have a p.

    table: variant, dataset, list, target and `value`. multiplicity: None is `max_t`, under `published` `holm`. `note` counts targets that
    only one of the two has, names data sets that a pair lacks and data sets of one list, and says why a pair has no test; a pair without a
    shared target has nan and says so. GeoBenchError as in `stats`.
    """
    import pandas as pd

    require_inference(inference)
    _check(table, ["variant", *KEY, value], ["variant", *KEY])
    wide = table.pivot(index=KEY, columns="variant", values=value)
    if wide.shape[1] < 2:
        raise GeoBenchError(f"contrasts of {value}: expected two variants or more, got {', '.join(wide.columns)}")
    keys = wide.index.to_frame()[["dataset", "list"]].astype(str).to_numpy()
    rows, made = paired_contrasts(list(wide.columns), keys, wide.to_numpy(float), resamples, seed, weighting, inference)
    out = pd.DataFrame(rows, columns=[c for c in COLUMNS if c not in ("p", "p_adjusted")])
    out["p"] = p_values(out["mean"], out["se"], out["df"])
    method = chosen(inference, multiplicity)
    out["p_adjusted"] = adjusted_ps(out["p"].to_numpy(), made, method, resamples, seed)
    _say(out, out["p"].isna() & out["se"].notna(), NO_TEST)
    if method == "max_t":
        for lists in sorted(n for n in set(out["n_lists"]) if least_p(n) > LEVEL):
            least = f"no adjusted p below {least_p(lists):.3g} from {lists} lists under `max_t`"
            _say(out, out["p"].notna() & (out["n_lists"] == lists), least)
    return out[COLUMNS]


def adjusted_ps(p: np.ndarray, made: np.ndarray, method: str, resamples: int, seed: int) -> np.ndarray:
    """p per pair adjusted by `holm` or `max_t` over the pairs that have one, never below it. made: lists x pairs contributions."""
    if method == "holm":
        return holm_ps(p)
    out, known = np.full(len(p), np.nan), ~np.isnan(p)
    if known.any():
        out[known] = np.maximum(p[known], max_t_ps(made[:, known], resamples, seed))
    return out


def _say(out, where, text: str) -> None:
    out.loc[where, "note"] = [f"{text}; {note}".removesuffix("; ") for note in out.loc[where, "note"]]


def paired_contrasts(variants: list[str], keys, numbers, resamples: int, seed: int, weighting: str = "dataset", inference: str = "t"):
    """(COLUMNS without p per pair, lists x pairs contributions to the mean difference), pairs in order.

    keys: targets x 2 (data set, list); numbers: targets x variants, nan where missing. Pairs with the same shared targets are computed
    together.
    """
    have = ~np.isnan(numbers)
    order = {pair: n for n, pair in enumerate(combinations(range(len(variants)), 2))}
    place = {key: n for n, key in enumerate(sorted({tuple(key) for key in keys.tolist()}))}
    found: dict = {}
    made = np.zeros((len(place), len(order)))
    for pairs in _alike(have):
        both = have[:, pairs[0][0]] & have[:, pairs[0][1]]
        if not both.any():
            found |= {pair: (np.nan,) * 5 + (0, 0, 0, "no interval: the two variants share no target") for pair in pairs}
            continue
        shared, first, second = np.where(both[:, None], np.nan_to_num(numbers), 0)[both], *np.array(pairs).T
        sums, sizes, names = list_sums(keys[both], shared, weighting)
        parts, residuals = contributions(sums, sizes, weighting)
        apart = parts[:, first] - parts[:, second]
        made[np.ix_([place[name] for name in names], [order[pair] for pair in pairs])] = apart
        if inference == "published":
            figures = _differences(resampled_means(keys[both], shared, resamples, seed, weighting)[0], pairs, sizes)
        else:
            mean, (se, df) = apart.sum(axis=0), welch(residuals[:, first] - residuals[:, second], sizes)
            figures = np.stack([mean, *t_ends(mean, se, df), se, df])
        alone = (have & ~both[:, None]).sum(axis=0).tolist()
        said = _said(sizes, sorted({d for d, _ in keys} - set(sizes)))
        counts = (int(both.sum()), sum(sizes.values()), len(sizes))
        for (a, b), row in zip(pairs, figures.T.tolist()):
            left = [f"left out {alone[a]} targets of a, {alone[b]} of b"] if alone[a] or alone[b] else []
            found[a, b] = (*row, *counts, "; ".join(said + left))
    return [(variants[a], variants[b], *found[a, b]) for a, b in order], made


def _alike(have: np.ndarray) -> list[list[tuple[int, int]]]:
    """Pairs of columns by the targets that both have."""
    kinds = [column.tobytes() for column in have.T]  # variants that have the same targets
    groups: dict[bytes, list[tuple[int, int]]] = {}
    joint: dict[tuple[bytes, bytes], bytes] = {}
    for a, b in combinations(range(have.shape[1]), 2):
        if (kind := (kinds[a], kinds[b])) not in joint:
            joint[kind] = (have[:, a] & have[:, b]).tobytes()
        groups.setdefault(joint[kind], []).append((a, b))
    return list(groups.values())


def _differences(means, pairs: list[tuple[int, int]], sizes: dict) -> np.ndarray:
    """5 x pairs: mean, lo, hi, se of first minus second, no degrees of freedom.

    means: (1 + resamples) x variants, row 0 the data's own; pairs in order.

    The resampled means are centred per variant first (in place), so that a difference's sum of squares needs no second pass; one
    first variant's pairs at a time, in a buffer that stays in the cache.
    """
    first, second = np.array(pairs).T
    mean = means[0, first] - means[0, second]
    if set(sizes.values()) == {1}:
        return np.stack([mean, *[np.full(len(pairs), np.nan)] * 4])
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
    return np.stack([mean, *ends.T, without_rounding(np.sqrt(squares / (count - 1))), np.full(len(pairs), np.nan)])


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
