"""p values adjusted for many pairs of variants: Holm, and a step-down max-t over all pairs by flipping the signs of lists.

Step-down max-t (Romano & Wolf 2005; Westfall & Young 1993): under the null a list's differences are as likely with the other sign, so
flipping lists, with all pairs at once (wild cluster resampling with the null imposed), gives the distribution of the largest statistic. All
patterns are taken where there are no more than `resamples`, which makes the level exact for differences that are symmetric about zero,
whatever their variances; else random patterns, the data's own among them.

A pair's statistic is |sum of z_l| / sqrt(sum of z_l^2 + s0), z_l a list's contribution to the mean difference: the mean over its standard
error under the null. s0, the median over pairs of sum of z_l^2, keeps pairs with a small variance by chance from setting the bar for all
(Tusher, Tibshirani & Chu 2001). Signs change neither sum, so only the numerator is resampled.
"""

from collections.abc import Iterator
from hashlib import sha256

import numpy as np

from geobench.resampling import CHUNK
from geobench.welch import NO_SPREAD

METHODS = ("holm", "max_t")
TIE = 1 - 1e-9  # equal statistics differ by rounding


def chosen(inference: str, multiplicity: str | None) -> str:
    """`max_t` or `holm`; None: what belongs to the inference."""
    return multiplicity or ("holm" if inference == "published" else "max_t")


def described(inference: str, multiplicity: str | None) -> str:
    """How p was adjusted, for a caption."""
    name = {"max_t": "step-down max-t over sign flips of lists", "holm": "Holm"}[chosen(inference, multiplicity)]
    return f"p: {'t' if inference == 't' else 'Wald'} tests, adjusted over all pairs by {name}."


def holm_ps(p) -> np.ndarray:
    """Holm-adjusted p (Holm 1979) over the ones that are no nan."""
    p = np.asarray(p, float)
    out, order = np.full(len(p), np.nan), np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]  # nan comes last
    out[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)))
    return out


def max_t_ps(contributions: np.ndarray, resamples: int = 5000, seed: int = 0) -> np.ndarray:
    """Step-down max-t p per pair, never lower for a smaller statistic. contributions: lists x pairs, whose columns sum to the means."""
    if not contributions.size:
        return np.ones(contributions.shape[1])
    unit = contributions / scales(contributions)
    observed = np.abs(unit.sum(axis=0))
    order = np.argsort(observed, kind="stable")
    unit, least = unit[:, order], TIE * observed[order]
    hits, count = np.zeros(len(order)), 0
    for signs in sign_patterns(len(unit), resamples, seed):
        largest = np.abs(signs @ unit)
        np.maximum.accumulate(largest, axis=1, out=largest)  # over the pairs that are not yet decided
        hits += (largest >= least).sum(axis=0)
        count += len(signs)
    out = np.empty(len(order))
    out[order] = np.maximum.accumulate((hits / count)[::-1])[::-1]
    return out


def scales(contributions: np.ndarray) -> np.ndarray:
    """sqrt(sum of z_l^2 + s0) per pair; 1 where no pair differs."""
    squares = (contributions**2).sum(axis=0)
    real = squares[squares > NO_SPREAD**2]
    return np.sqrt(squares + np.median(real)) if len(real) else np.ones(len(squares))


def sign_patterns(lists: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Rows of +1 and -1 per list, the data's own signs first: all patterns up to a change of every sign, or `resamples` random ones."""
    if every := lists <= 60 and 2 ** (lists - 1) <= resamples:
        resamples = 2 ** (lists - 1)
    rng = np.random.default_rng(int.from_bytes(sha256(f"signs|{seed}".encode()).digest()[:16], "big"))
    for start in range(0, resamples, CHUNK):
        rows = np.arange(start, min(start + CHUNK, resamples))
        bits = rows[:, None] >> np.arange(lists) & 1 if every else rng.integers(2, size=(len(rows), lists))
        bits[rows == 0] = 0
        yield 1.0 - 2 * bits


def least_p(lists: int) -> float:
    """The smallest p that flipping the signs of so many lists can give."""
    return 2.0 ** (1 - lists)
