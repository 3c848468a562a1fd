import numpy as np
import pytest

from geobench import detection_tables as tables
from geobench.auroc import auroc_table
from geobench.operating_points import standard_points


def test_auroc_of_every_detector_and_variant(study):
    wide, params = study.scores(), study.params()
    table = tables.auroc_all(wide, params)
    assert len(table) == 4 * 5 and table.columns.tolist() == ["detector", "variant", "auroc", "lo", "hi", "a", "b", "note"]
    judge = auroc_table(tables.long_scores(wide, "judge")).set_index("variant")["mean"]
    ours = table[table.detector == "judge"].set_index("variant")["auroc"]
    assert ours.to_dict() == pytest.approx(judge.to_dict())


def test_what_passes_is_promoted_and_not_flagged(study):
    targets, wide = study.targets(), study.scores()
    table = tables.passes_table(targets, wide, standard_points(wide, 0.1), study.params()).set_index(["variant", "point"])
    assert table.loc[("injection", "keyword"), ["flag", "residual", "passed", "false_positive_rate"]].tolist() == [1, 0, 0, 0]
    promoted = targets[targets.variant == "tap__m"].groupby("dataset")["promote@0.1"].mean().mean()
    assert table.loc[("tap__m", "keyword"), "passed"] == pytest.approx(promoted)


def test_roc_rises_from_the_lowest_rate(study):
    points = tables.roc_points(study.scores(), "judge", [0, 0.1, 0.5, 1])
    assert (np.diff(points) >= 0).all() and points[-1] > 0.95 and points[0] > 0.4
