import pandas as pd
import pytest

from geobench.errors import GeoBenchError
from geobench.operating_points import Point
from geobench.outcomes import outcome_table, outcomes

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
