import numpy as np
import pandas as pd

from geobench.released_tables import gaps, per_target, released_table

ROWS = pd.DataFrame([
    {"variant": "v", "ranker": r, "dataset": "d", "list": "l", "target": t, "run": 1, "L": 5, "r_before": b, "r_after": a, "kvr": k}
    for r, t, b, a, k in [("x", 1, 5, 1, 1), ("x", 2, 3, 3, 0), ("y", 1, 5, 5, 1)]
])  # fmt: skip


def test_levels_and_two_rankers_are_kept_apart():
    table = released_table(per_target(ROWS, (0.5, 0.1)))
    assert table["variant"].tolist() == ["v @ x", "v @ y"]
    assert table.loc[0, ["n", "nrg", "success@0.1", "success@0.5", "promote@0.5", "kvr"]].tolist() == [2, 0.5, 0.5, 1, 0.5, 0.5]


def test_a_mean_over_a_missing_value_is_missing():
    rows = ROWS.assign(r_before=[np.nan, 3, 5])
    table = released_table(per_target(rows))
    assert np.isnan(table["nrg"][0]) and table["success@0.1"][0] == 0.5
    assert gaps(per_target(rows))[0].startswith("v, d: 1 targets")
