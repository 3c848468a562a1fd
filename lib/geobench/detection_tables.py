"""Tables of detection: AUROC with intervals, ROC at low rates, and what passes the filters."""

import numpy as np

from geobench.auroc import auroc_table
from geobench.auroc_bootstrap import auroc_intervals
from geobench.operating_points import realised
from geobench.outcomes import outcome_table, outcomes
from geobench.variants import by_threat


def long_scores(wide, detector: str):
    """Score records of one detector, as `auroc` wants them."""
    return wide[["dataset", "list", "target", "variant", detector]].rename(columns={detector: "score"})


def auroc_all(wide, params, detectors=("keyword", "perplexity", "judge", "trained")):
    """One row per detector and variant: AUROC per data set, their mean with interval, notes."""
    import pandas as pd

    parts = []
    for detector in (d for d in detectors if d in wide):
        scores = long_scores(wide, detector)
        ends = auroc_intervals(scores, params.resamples, params.seed, params.inference)[["variant", "auroc", "lo", "hi", "note"]]
        per_dataset = auroc_table(scores).drop(columns=["mean", "note"])
        parts.append(by_threat(per_dataset.merge(ends, on="variant")).assign(detector=detector))
    table = pd.concat(parts, ignore_index=True)
    return table[
        [
            "detector",
            "variant",
            "auroc",
            "lo",
            "hi",
            *(c for c in table if c not in ("detector", "variant", "auroc", "lo", "hi", "note")),
            "note",
        ]
    ]


def passes_table(targets, wide, points, params):
    """Per variant and operating point: false-positive rate, flag rate, residual NRG, promoted and passed, with intervals."""
    originals = wide[wide["variant"] == "original"]
    rates = {p.name: realised(p, originals)["mean"] for p in points}
    table = outcome_table(outcomes(targets, wide, points), params.resamples, params.seed, params.weighting, params.inference)
    table.insert(2, "false_positive_rate", table["point"].map(rates))
    return by_threat(table)


def roc_points(wide, detector: str, rates):
    """Share of edits flagged (equal data sets, then equal variants) at each false-positive rate."""
    from geobench.operating_points import threshold

    originals, edits = wide[wide["variant"] == "original"], wide[wide["variant"] != "original"]
    out = []
    for rate in rates:
        cut = threshold(originals[detector], originals["dataset"], rate)
        hit = (edits[detector] >= cut).groupby([edits["variant"], edits["dataset"]]).mean()
        out.append(hit.groupby("variant").mean().mean())
    return np.array(out)
