"""Thresholds of several detectors under one false-positive budget."""

import math

import numpy as np

from geobench.errors import GeoBenchError
from geobench.search.defences.base import threshold


def union_taus(scores, rate: float) -> list[float]:
    """One tau per detector: all get the same own rate, the largest at which the union blocks at most `rate` of the harmless texts.

    scores: detectors x harmless texts. GeoBenchError where the detectors saw different numbers of texts.
    """
    scores = [np.asarray(s, dtype=float) for s in scores]
    if len({len(s) for s in scores}) != 1 or not len(scores[0]):
        raise GeoBenchError(f"union: expected scores of the same harmless texts, got {', '.join(str(len(s)) for s in scores)}")
    count = len(scores[0])
    for allowed in range(math.floor(rate * count + 1e-9), -1, -1):
        taus = [threshold(s, allowed / count) for s in scores]
        if union_rate(scores, taus) <= rate + 1e-12:
            return taus
    return taus


def union_rate(scores, taus) -> float:
    """Share of texts at or above the tau of at least one detector."""
    return float(np.any([np.asarray(s) >= t for s, t in zip(scores, taus)], axis=0).mean())
