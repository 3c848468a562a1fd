"""Intervals of AUROC over lists, by the same inference as every other figure.

W[i, j] counts the pairs of an edit of list i and an original of list j that the score orders rightly (ties half), n[i] the targets of
list i, S their sum; a data set's AUROC is A = sum of W / S^2.
- `t`: linearised, list i's residual is (sum of row i + sum of column i of W) / S^2 - 2 A n[i] / S (as Obuchowski 1997 for clustered data);
  the rest is `welch`.
- `published`: with c the number of times that each list was drawn, a resample's AUROC is c'Wc over (c'n)^2, one product for all resamples.
"""

import numpy as np

from geobench.auroc import KEY, auroc_table
from geobench.errors import GeoBenchError
from geobench.resampling import resample_counts
from geobench.stats import PERCENTILES, require_inference
from geobench.welch import interval


def auroc_intervals(scores, resamples: int = 5000, seed: int = 0, inference: str = "t"):
    """variant, auroc (equal data sets), lo, hi (within 0 and 1), n_lists, note; scores as in `auroc.auroc_table`, which checks them."""
    import pandas as pd

    require_inference(inference)
    means = auroc_table(scores).set_index("variant")
    originals = scores[scores["variant"] == "original"]
    rows = []
    for variant, edits in scores[scores["variant"] != "original"].groupby("variant", sort=True):
        pairs = edits.merge(originals[[*KEY, "score"]], on=list(KEY), suffixes=("", "_original"))
        wins, sizes = {}, {}
        for dataset, part in pairs.groupby("dataset", sort=True):
            wins[dataset], sizes[dataset] = _wins(part)
        single = [d for d, n in sizes.items() if len(n) == 1]
        alone = len(single) == len(sizes)
        if alone:
            low = high = np.nan
        elif inference == "published":
            low, high = np.percentile(_resampled(wins, sizes, resamples, seed), PERCENTILES)
        else:
            low, high = _welch_ends(float(means.loc[variant, "mean"]), wins, sizes)
        note = f"{'no interval' if alone else 'no variance between lists'}: one list in {', '.join(single)}" if single else ""
        note = "; ".join(filter(None, [means.loc[variant, "note"], note]))
        rows.append({"variant": variant, "auroc": float(means.loc[variant, "mean"]), "lo": float(low), "hi": float(high),
                     "n_lists": sum(map(len, sizes.values())), "note": note})  # fmt: skip
    if not rows:
        raise GeoBenchError("AUROC: expected scores of edits, got only originals")
    return pd.DataFrame(rows)


def _wins(part) -> tuple[np.ndarray, np.ndarray]:
    """(lists x lists pairs won by edits of the row's list over originals of the column's, targets per list)."""
    names = sorted(part["list"].unique())
    edits = [part.loc[part["list"] == n, "score"].to_numpy(float) for n in names]
    originals = [part.loc[part["list"] == n, "score_original"].to_numpy(float) for n in names]
    won = [[(np.sign(e[:, None] - o[None, :]) / 2 + 0.5).sum() for o in originals] for e in edits]
    return np.array(won), np.array([len(e) for e in edits], dtype=float)


def residuals(wins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """[lists] linearised residuals of one data set's AUROC; they sum to 0."""
    whole = sizes.sum()
    return (wins.sum(axis=0) + wins.sum(axis=1)) / whole**2 - 2 * wins.sum() / whole**2 * sizes / whole


def _welch_ends(mean: float, wins: dict, sizes: dict) -> np.ndarray:
    """(lo, hi) of the equal-dataset mean, within 0 and 1."""
    column = np.concatenate([residuals(wins[d], sizes[d]) for d in sizes]) / len(sizes)
    return np.clip(interval(mean, column, {d: len(n) for d, n in sizes.items()})[:2], 0, 1)


def _resampled(wins: dict, sizes: dict, resamples: int, seed: int) -> np.ndarray:
    """[resamples] equal-dataset means."""
    counts = resample_counts({d: len(n) for d, n in sizes.items()}, resamples, seed).astype(float)
    total, start = np.zeros(resamples), 0
    for dataset, size in sizes.items():
        drawn = counts[:, start : start + len(size)]
        total += ((drawn @ wins[dataset]) * drawn).sum(axis=1) / (drawn @ size) ** 2
        start += len(size)
    return total / len(sizes)
