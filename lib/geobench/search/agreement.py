"""Agreement between judges and readers: Cohen's kappa (plain, linear-weighted) and Fleiss' kappa, with bootstrap intervals over items."""

import math

import numpy as np

from geobench.errors import GeoBenchError, came

LEVELS = (0.0, 0.5, 1.0)


def _codes(ratings, levels) -> np.ndarray:
    place = {level: n for n, level in enumerate(levels)}
    try:
        return np.array([place[r] for r in ratings])
    except KeyError as error:
        raise GeoBenchError(f"agreement: expected ratings among {list(levels)}, got {came(error.args[0])}") from None


def _confusions(a: np.ndarray, b: np.ndarray, k: int, weights: np.ndarray) -> np.ndarray:
    """[resamples, k, k] weighted confusion tables: one product of how often each item was drawn with its cell."""
    cells = np.zeros((len(a), k * k))
    cells[np.arange(len(a)), a * k + b] = 1
    return (weights @ cells).reshape(-1, k, k)


def _kappa(tables: np.ndarray, linear: bool) -> np.ndarray:
    """Cohen's kappa of each table; nan where chance agreement is total."""
    k = tables.shape[1]
    place = np.arange(k)
    cost = np.abs(place[:, None] - place[None, :]).astype(float) if linear else (place[:, None] != place[None, :]).astype(float)
    total = tables.sum((1, 2))
    expected = tables.sum(2)[:, :, None] * tables.sum(1)[:, None, :] / total[:, None, None]
    chance = (expected * cost).sum((1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(chance > 0, 1 - (tables * cost).sum((1, 2)) / chance, np.nan)


def _draws(items: int, resamples: int, seed: int) -> np.ndarray:
    """Row 0: each item once; then `resamples` draws with replacement."""
    counts = np.random.default_rng(seed).multinomial(items, np.full(items, 1 / items), size=resamples)
    return np.vstack([np.ones(items), counts])


def _interval(values: np.ndarray) -> dict:
    known = values[1:][~np.isnan(values[1:])]
    lo, hi = np.percentile(known, (2.5, 97.5)) if len(known) else (math.nan, math.nan)
    return {"kappa": float(values[0]), "lo": float(lo), "hi": float(hi)}


def cohen(a, b, linear: bool = False, levels=LEVELS, resamples: int = 10_000, seed: int = 0) -> dict:
    """{"kappa", "lo", "hi", "n"} of two raters over the same items; nan where both always give one and the same level.

    GeoBenchError for unequal lengths, no items, or a rating that is not among `levels` (ordered, equally spaced weights).
    """
    if len(a) != len(b) or not len(a):
        raise GeoBenchError(f"agreement: expected two equally long lists of ratings, got {len(a)} and {len(b)}")
    tables = _confusions(_codes(a, levels), _codes(b, levels), len(levels), _draws(len(a), resamples, seed))
    return _interval(_kappa(tables, linear)) | {"n": len(a)}


def fleiss(ratings, levels=LEVELS, resamples: int = 10_000, seed: int = 0) -> dict:
    """Fleiss' kappa of items x raters (every item rated by all raters), as `cohen`."""
    rows = [list(r) for r in ratings]
    if not rows or len({len(r) for r in rows}) != 1 or len(rows[0]) < 2:
        raise GeoBenchError("agreement: expected items x raters with at least two raters and no gaps")
    n, k = len(rows[0]), len(levels)
    counts = np.array([np.bincount(_codes(r, levels), minlength=k) for r in rows], dtype=float)
    agree = (counts * (counts - 1)).sum(1) / (n * (n - 1))
    weights = _draws(len(rows), resamples, seed)
    share = weights @ counts / (n * len(rows))
    chance, observed = (share**2).sum(1), weights @ agree / len(rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _interval(np.where(chance < 1, (observed - chance) / (1 - chance), np.nan)) | {"n": len(rows)}
