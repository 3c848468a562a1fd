import numpy as np
import pandas as pd
import pytest

from geobench.auroc import auroc
from geobench.auroc_bootstrap import auroc_intervals
from geobench.resampling import resample_counts


def scores(sizes, seed=0):
    rng = np.random.default_rng(seed)
    keys = [(d, f"l{n}", t) for d, lists in sizes.items() for n, size in enumerate(lists) for t in range(size)]
    frame = pd.DataFrame(keys * 2, columns=["dataset", "list", "target"])
    return frame.assign(variant=["original"] * len(keys) + ["tap"] * len(keys), score=np.round(rng.normal(size=len(frame)), 1))


def test_equals_a_loop_over_the_same_draws():
    frame = scores({"a": [3, 2, 4], "b": [2, 5]})
    row = auroc_intervals(frame, 200, 3, "published").iloc[0]
    means = []
    for counts in resample_counts({"a": 3, "b": 2}, 200, 3):
        drawn = [(d, f"l{n}") for (d, n), c in zip([("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)], counts) for _ in range(c)]
        parts = {d: [frame[(frame.dataset == d) & (frame.list == n)] for e, n in drawn if e == d] for d in "ab"}
        means.append(
            np.mean([auroc(*(pd.concat(p).query(f"variant == '{v}'")["score"] for v in ("original", "tap"))) for p in parts.values()])
        )
    assert [row.lo, row.hi] == pytest.approx(np.percentile(means, [2.5, 97.5]), abs=1e-12)
    assert row.lo <= row.auroc <= row.hi and row.n_lists == 5


def test_one_list_gives_no_interval():
    row = auroc_intervals(scores({"a": [4]}), 50).iloc[0]
    assert np.isnan(row.lo) and row.note == "no interval: one list in a"


def test_t_is_the_one_sample_interval_of_what_each_list_adds():
    """One target per list and one data set: AUROC is linear in the lists' shares of wins (Obuchowski 1997), here with scipy."""
    from scipy.stats import ttest_1samp

    frame = scores({"a": [1] * 30})
    edit, plain = (frame[frame.variant == v].set_index("list")["score"] for v in ("tap", "original"))
    wins = np.array([[0.5 * (e > p) + 0.5 * (e >= p) for p in plain] for e in edit])
    added = wins.mean(axis=1) + wins.mean(axis=0) - wins.mean()  # list l: its edit against all originals, its original against all edits
    row = auroc_intervals(frame).iloc[0]
    assert [row.lo, row.hi] == pytest.approx(list(ttest_1samp(added, 0).confidence_interval()))
    assert row.auroc == pytest.approx(added.mean())


def test_ends_stay_within_0_and_1():
    frame = scores({"a": [1, 1], "b": [1, 1]})
    row = auroc_intervals(frame).iloc[0]
    assert 0 <= row.lo <= row.auroc <= row.hi <= 1
