import pandas as pd
import pytest

from geobench.errors import GeoBenchError
from geobench.operating_points import Point
from geobench.outcomes import clipped, outcome_table, outcomes

TARGETS = pd.DataFrame([
    {"variant": "tap", "dataset": "d", "list": lst, "target": 1, "nrg": nrg, "promote@0.1": p}
    for lst, nrg, p in (("x", 1.0, 1), ("y", 0.5, 1))
])  # fmt: skip
WIDE = pd.DataFrame([{"variant": "tap", "dataset": "d", "list": lst, "target": 1, "judge": s} for lst, s in (("x", 3.0), ("y", 1.0))])


def test_flagged_edits_gain_nothing():
    made = outcomes(TARGETS, WIDE, [Point("judge", {"judge": 2.0}), Point("none", {})])
    assert made[made.point == "judge"][["flag", "residual", "passed"]].values.tolist() == [[1, 0, 0], [0, 0.5, 1]]
    assert made[made.point == "none"][["flag", "residual", "passed"]].values.tolist() == [[0, 1, 1], [0, 0.5, 1]]
    table = outcome_table(made, 200).set_index("point")
    assert table.loc["judge", ["flag", "residual", "passed", "passed_lo", "passed_hi"]].tolist() == [0.5, 0.25, 0.5, 0, 1]


def test_a_ranked_edit_without_a_score_is_named():
    with pytest.raises(GeoBenchError, match="d/y/1/tap: ranked, but no detector"):
        outcomes(TARGETS, WIDE.head(1), [Point("judge", {"judge": 2.0})])


def test_ends_are_cut_to_what_a_value_can_be():
    long = pd.DataFrame({"value": ["nrg", "success@0.1", "ppl_ratio", "nrg"], "lo": [-1.7, -0.2, -3.0, None], "hi": [1.9, 1.4, 9.0, None]})
    made = clipped(long)
    assert made["lo"][:3].tolist() == [-1, 0, -3] and made["hi"][:3].tolist() == [1, 1, 9] and made.loc[3, ["lo", "hi"]].isna().all()
