"""Operating points: where a detector starts to flag, and what its false-positive rate is where it was not set.

A text is flagged if its score reaches the threshold. The threshold at a rate is the lowest score of an original at which the
fraction of originals flagged, averaged over data sets with equal weight, is at most the rate (the paper's rule); `pooled` weighs
originals equally; leave-one-dataset-out sets each data set's threshold on the others. A union flags what any of its members flags:
members with fixed thresholds come first, and the free one is lowered until the union meets the rate.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from geobench.auroc import KEY
from geobench.errors import GeoBenchError

CALIBRATIONS = ("equal data sets", "pooled", "leave one data set out")


@dataclass(frozen=True)
class Point:
    """Flags a text if the score of any member reaches its threshold; `rate` is what it was set for, nan where it has no choice."""

    name: str
    thresholds: Mapping[str, float] = field(default_factory=dict)
    rate: float = math.nan

    def flags(self, wide) -> np.ndarray:
        """Booleans, one per row of a table with a column per detector."""
        flagged = np.zeros(len(wide), dtype=bool)
        for detector, threshold in self.thresholds.items():
            flagged |= wide[detector].to_numpy(float) >= threshold
        return flagged


def wide_scores(scores: Mapping):
    """One row per text (dataset, list, target, variant), one column per detector; from {detector: score records}.

    GeoBenchError, naming the text, where a detector has no score of it, or nan, or two.
    """
    import pandas as pd

    keys, columns = [*KEY, "variant"], {}
    for detector, frame in scores.items():
        twice = frame[frame.duplicated(keys)]
        if len(twice):
            raise GeoBenchError(f"{detector}: {'/'.join(map(str, twice.iloc[0][keys]))}: scored twice")
        columns[detector] = pd.to_numeric(frame.set_index(keys)["score"], errors="coerce")
    wide = pd.DataFrame(columns)
    if (lost := wide[wide.isna().any(axis=1)]).size:
        detector = lost.columns[lost.iloc[0].isna()][0]
        raise GeoBenchError(f"{detector}: {'/'.join(map(str, lost.index[0]))}: no score; run notebook 06_detection again")
    wide = wide.reset_index()
    originals = set(map(tuple, wide.loc[wide.variant == "original", list(KEY)].to_numpy()))
    for row in wide[list(KEY) + ["variant"]].itertuples(index=False):
        if tuple(row[:3]) not in originals:
            raise GeoBenchError(f"{'/'.join(map(str, row))}: its original has no score")
    return wide


def threshold(scores, datasets, rate: float, pooled: bool = False, flagged=None) -> float:
    """Lowest score of an original at which at most `rate` of the originals are flagged (with those already `flagged`).

    scores, datasets, flagged: [originals]. Above every score where even the highest one flags too many.
    """
    scores, datasets = np.asarray(scores, float), np.asarray(datasets)
    if not len(scores) or np.isnan(scores).any() or not 0 <= rate <= 1:
        raise GeoBenchError(f"threshold: expected scores of originals without nan and a rate from 0 to 1, got {len(scores)} and {rate}")
    weight = 1 / len(scores) * np.ones(len(scores))
    if not pooled:
        names, place, sizes = np.unique(datasets, return_inverse=True, return_counts=True)
        weight = 1 / (len(names) * sizes[place])
    free = np.ones(len(scores), dtype=bool) if flagged is None else ~np.asarray(flagged, bool)
    spent = weight[~free].sum()
    candidates = np.unique(scores)
    rates = [spent + weight[free & (scores >= t)].sum() for t in candidates]
    fits = candidates[np.array(rates) <= rate + 1e-12]
    return float(fits[0]) if len(fits) else float(np.nextafter(candidates[-1], np.inf))


def realised(point: Point, originals) -> dict[str, float]:
    """Share of originals flagged: per data set, and `mean` over data sets with equal weight."""
    import pandas as pd

    rates = pd.Series(point.flags(originals)).groupby(originals["dataset"].to_numpy()).mean()
    return {"mean": float(rates.mean()), **{str(k): float(v) for k, v in rates.items()}}


def single(originals, detector: str, rate: float, name: str | None = None) -> Point:
    """One detector at a rate."""
    return Point(name or f"{detector} at {rate:.0%}", {detector: threshold(originals[detector], originals["dataset"], rate)}, rate)


def union(originals, fixed: Point, detector: str, rate: float, name: str | None = None) -> Point:
    """`fixed` or `detector`, whose threshold is lowered until the union meets the rate (never, where `fixed` alone exceeds it)."""
    free = threshold(originals[detector], originals["dataset"], rate, flagged=fixed.flags(originals))
    return Point(name or f"{fixed.name} or {detector}", {**fixed.thresholds, detector: free}, rate)


def standard_points(wide, rate: float, union_rate: float = 0.1) -> list[Point]:
    """The keyword filter as it is; the judge at the filter's own rate; either of them; every scored detector at `rate`.

    The union is set at the larger of the filter's own rate and `union_rate`, since it cannot flag less than the filter.
    """
    originals = wide[wide["variant"] == "original"]
    keyword = Point("keyword", {"keyword": 1.0})
    own = realised(keyword, originals)["mean"]
    points = [keyword]
    if "judge" in wide:
        points.append(single(originals, "judge", own, "judge, matched"))
        points.append(union(originals, keyword, "judge", max(own, union_rate), "keyword or judge"))
    return points + [single(originals, d, rate) for d in ("judge", "perplexity", "trained") if d in wide]


def calibration_table(wide, rate: float, detectors=("judge", "perplexity", "trained")):
    """One row per detector and calibration: the rate asked for, the realised mean rate and the rate in each data set."""
    import pandas as pd

    originals, rows = wide[wide["variant"] == "original"], []
    names = sorted(originals["dataset"].unique())
    for detector in (d for d in detectors if d in wide):
        for calibration in CALIBRATIONS:
            rates = {}
            for name in names:
                here = originals["dataset"] == name
                basis = originals[~here] if calibration == CALIBRATIONS[2] else originals
                if basis.empty:
                    continue
                cut = threshold(basis[detector], basis["dataset"], rate, pooled=calibration == "pooled")
                rates[name] = float((originals.loc[here, detector] >= cut).mean())
            note = "" if rates else "one data set: none to leave out"
            mean = float(np.mean(list(rates.values()))) if rates else math.nan
            rows.append({"detector": detector, "calibration": calibration, "rate": rate, "realised": mean, **rates, "note": note})
    return pd.DataFrame(rows)
