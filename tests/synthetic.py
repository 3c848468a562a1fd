"""A made-up study for tests of tables and figures: per-target rows of three variants, and scores of their texts."""

import numpy as np
import pandas as pd

from geobench.metrics import nrg, promote, success
from geobench.params import load

VARIANTS = {"tap__m": 3, "fluency__a": 0, "fluency__b": 1, "padding": 0, "injection": 4}  # places that each gains


def targets(seed=0, sizes=None):
    """Five variants on 12 targets of two data sets (three lists and one), L = 6."""
    rng, rows = np.random.default_rng(seed), []
    for variant, gain in VARIANTS.items():
        for dataset, lists in (sizes or {"a": 3, "b": 1}).items():
            for n in range(lists):
                for target in (1, 2, 3):
                    before = 2 + (target + n) % 5
                    after = min(7, max(1, before - gain + rng.integers(0, 2)))
                    rows.append({"variant": variant, "ranker": "r", "dataset": dataset, "list": f"l{n}", "target": target, "L": 6,
                                 "r_before": float(before), "r_after": float(after)})  # fmt: skip
    frame = pd.DataFrame(rows)
    before, after = frame["r_before"], frame["r_after"]
    return frame.assign(
        **{"nrg": nrg(before, after, 6), "success@0.1": success(after, 6, 0.1), "promote@0.1": promote(before, after, 6, 0.1)}
    )


def scores(seed=1):
    """Scores of the texts of `targets`: keyword hits only of injection, judge higher for strong edits."""
    rng, edits = np.random.default_rng(seed), targets()[["variant", "dataset", "list", "target"]]
    first = edits[edits.variant == "padding"].assign(variant="original")
    frame = pd.concat([first, edits], ignore_index=True)
    gain = frame["variant"].map(VARIANTS).fillna(0)
    noise = rng.normal(size=(3, len(frame)))
    return frame.assign(
        keyword=(frame.variant == "injection") * 2.0, perplexity=20 + noise[0], judge=gain + noise[1] / 2, trained=gain / 2 + noise[2]
    )


def params(**values):
    return load("smoke", {"resamples": 200, **values})
