"""Thresholds, calibrations and unions by hand."""

import math

import pandas as pd
import pytest

from geobench.errors import GeoBenchError
from geobench.operating_points import Point, calibration_table, realised, single, standard_points, threshold, union, wide_scores

SCORES, SETS = [1, 2, 3, 4, 10, 20], list("aaaabb")


def records(scores, **same):
    return pd.DataFrame([{"dataset": d, "list": "l", "target": n, "score": float(s), **same} for n, (s, d) in enumerate(zip(scores, SETS))])


def wide():
    texts = [("original", [0, 0, 0, 1, 0, 0], SCORES), ("tap", [1, 0, 0, 0, 0, 1], [9, 9, 1, 1, 30, 1])]
    keyword, judge = (pd.concat([records(t[k], variant=t[0]) for t in texts]) for k in (1, 2))
    return wide_scores({"keyword": keyword, "judge": judge})


@pytest.mark.parametrize(
    "rate,pooled,cut",
    [
        (0.25, False, 20), (0.5, False, 10), (0.5 + 1 / 8, False, 4), (1, False, 1), (1 / 6, True, 20), (0.5, True, 4),
        (0.24, False, math.nextafter(20, math.inf)), (0, True, math.nextafter(20, math.inf)),
    ],
)  # fmt: skip
def test_thresholds_by_hand(rate, pooled, cut):
    # equal data sets: b's two originals weigh 1/4 each, a's four 1/8 each
    assert threshold(SCORES, SETS, rate, pooled) == cut


def test_ties_are_flagged_together():
    assert threshold([5, 5, 5, 1], list("aaaa"), 0.5) == math.nextafter(5, math.inf)
    assert threshold([5, 5, 5, 1], list("aaaa"), 0.75) == 5


def test_what_is_already_flagged_counts_against_the_rate():
    flagged = [False, False, False, True, False, False]
    assert threshold(SCORES, SETS, 0.375, flagged=flagged) == 20
    assert threshold(SCORES, SETS, 0.1, flagged=flagged) > 20  # the flagged one alone is 1/8


def test_union_lowers_the_free_threshold_until_the_rate_is_met():
    table = wide()
    originals = table[table.variant == "original"]
    keyword = Point("keyword", {"keyword": 1.0})
    both = union(originals, keyword, "judge", 0.375)
    assert both.thresholds == {"keyword": 1.0, "judge": 20.0} and realised(both, originals)["mean"] == 0.375
    assert both.flags(table[table.variant == "tap"]).tolist() == [True, False, False, False, True, True]


def test_standard_points():
    points = {p.name: p for p in standard_points(wide(), 0.25)}
    originals = wide().query("variant == 'original'")
    assert list(points) == ["keyword", "judge, matched", "keyword or judge", "judge at 25%"]
    assert realised(points["keyword"], originals) == {"mean": 0.125, "a": 0.25, "b": 0}
    assert points["judge, matched"].rate == 0.125 and realised(points["judge, matched"], originals)["mean"] <= 0.125
    assert realised(points["keyword or judge"], originals)["mean"] <= 0.25
    assert single(originals, "judge", 0.5).thresholds == {"judge": 10.0}


def test_calibration_transfers_or_does_not():
    table = calibration_table(wide(), 0.25).set_index("calibration")
    assert table.loc["equal data sets", ["realised", "a", "b"]].tolist() == [0.25, 0, 0.5]
    assert table.loc["pooled", ["realised", "a", "b"]].tolist() == [0.25, 0, 0.5]
    # b's threshold from a is 4, which flags all of b; a's from b is above 20, since 1 of 2 is already 50 %
    assert table.loc["leave one data set out", ["realised", "a", "b"]].tolist() == [0.5, 0, 1]
    one = calibration_table(wide().query("dataset == 'a'"), 0.25).set_index("calibration")
    assert one.loc["leave one data set out", "note"] == "one data set: none to leave out"


def test_scores_are_checked_by_name():
    good = pd.concat([records(SCORES, variant="original"), records(SCORES, variant="tap")])
    with pytest.raises(GeoBenchError, match="keyword: a/l/0/tap: no score"):
        wide_scores({"judge": good, "keyword": good[(good.variant != "tap") | (good.target != 0)]})
    with pytest.raises(GeoBenchError, match="judge: a/l/0/original: scored twice"):
        wide_scores({"judge": pd.concat([good, good])})
    with pytest.raises(GeoBenchError, match="a/l/0/tap: its original has no score"):
        wide_scores({"judge": good[good.variant == "tap"]})
    with pytest.raises(GeoBenchError, match="rate from 0 to 1"):
        threshold(SCORES, SETS, 1.5)
