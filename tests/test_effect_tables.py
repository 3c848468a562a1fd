import numpy as np
import pandas as pd
import pytest

from geobench import effect_tables as tables
from geobench.operating_points import standard_points
from geobench.stats import cluster_mean


@pytest.fixture(scope="module")
def data(study):
    return study.targets(), study.scores(), study.params()


def test_main_table_joins_effect_and_detection(data):
    targets, scores, params = data
    table = tables.main_table(targets, scores, standard_points(scores, 0.1), params).set_index("variant")
    assert list(table.index) == ["tap__m", "fluency__b", "fluency__a", "injection", "padding"]  # by threat model, then by NRG
    one = cluster_mean(targets[targets.variant == "tap__m"], "nrg", 200, 0)
    assert table.loc["tap__m", ["nrg", "nrg_lo", "nrg_hi"]].tolist() == [one.mean, one.lo, one.hi]
    assert table.loc["injection", ["kvr", "flag_keyword", "residual_keyword"]].tolist() == [1, 1, 0]
    assert table.loc["padding", ["kvr", "flag_keyword"]].tolist() == [0, 0]
    assert table.loc["tap__m", "residual_keyword"] == table.loc["tap__m", "nrg"]
    assert table.loc["tap__m", "judge_auroc"] > 0.9 and table.loc["tap__m", "note"] == "no variance between lists from b (one list)"
    assert table.loc["tap__m", "threat"] == "black-box" and (table["flag_either"] >= table[["flag_keyword"]].max(axis=1)).all()


def test_other_levels_than_the_papers_are_measured_beside_it(study):
    from geobench.metrics import per_target

    clean = {"dataset": "d", "list": "l", "target": None, "orders": [[1, 2, 3]], "ranks": [[1, 2, 3]]}
    edits = [{"variant": "tap__m", "dataset": "d", "list": "l", "target": 3, "orders": [[1, 2, 3]], "ranks": [2]}]
    made = per_target([clean], edits, "m", levels=(0.5,))
    scores = study.scores().query("list == 'l1' and dataset == 'a' and target == 1 and variant in ('tap__m', 'original')")
    scores = scores.assign(dataset="d", list="l", target=3)
    row = tables.main_table(made, scores, standard_points(study.scores(), 0.1), study.params()).iloc[0]
    assert row[["success@0.1", "success@0.5", "promote@0.1", "promote@0.5"]].tolist() == [0, 1, 0, 1]


def test_main_contrasts_have_both_weights_and_the_right_sign(data):
    targets, scores, params = data
    chosen, pairs = tables.contrast_tables(targets, params)
    assert len(pairs) == 10
    row = chosen[(chosen.a == "tap__m") & (chosen.b == "fluency__b")].iloc[0]
    wide = targets.pivot(index=["dataset", "list", "target"], columns="variant", values="nrg")
    gap = wide["tap__m"] - wide["fluency__b"]
    assert row.target_mean == pytest.approx(gap.mean()) and row.dataset_mean == pytest.approx(gap.groupby("dataset").mean().mean())
    assert row.dataset_lo <= row.dataset_mean <= row.dataset_hi and row.dataset_p <= row.dataset_p_adjusted
    assert ("tap__m", "padding") in set(zip(chosen.a, chosen.b))


def test_models_of_one_method_are_compared_with_its_first(data):
    targets, scores, params = data
    table = tables.model_table(targets, params).set_index(["method", "model"])
    means = targets.groupby(["variant", "dataset"])["nrg"].mean().groupby("variant").mean()
    assert table.loc[("fluency", "b"), "difference"] == pytest.approx(means["fluency__b"] - means["fluency__a"])
    assert table.loc[("fluency", "b"), "against"] == "a" and np.isnan(table.loc[("tap", "m"), "difference"])


def test_data_sets_of_one_list_say_why_they_have_no_interval(data):
    targets, scores, params = data
    table = tables.dataset_table(targets, params).set_index(["dataset", "variant"])
    assert np.isnan(table.loc[("b", "tap__m"), "nrg_lo"]) and table.loc[("b", "tap__m"), "note"] == "no interval: one list in b"
    assert table.loc[("a", "tap__m"), "note"] == ""


def test_first_paper_means_and_deviations_over_lists(data):
    targets, scores, params = data
    table = tables.first_paper_table(targets, "a").set_index("variant")
    lists = targets.query("dataset == 'a' and variant == 'tap__m'").groupby("list")["nrg"].mean()
    assert table.loc["tap__m", ["nrg_mean", "nrg_sd"]].tolist() == pytest.approx([lists.mean(), lists.std(ddof=0)])


def test_rankers_side_by_side(data):
    targets, scores, params = data
    table, long = tables.ranker_table(targets, params)
    assert table.columns.tolist() == ["variant", "r"] and len(long) == 5


def test_one_variant_has_no_contrasts(data):
    targets, _, params = data
    chosen, pairs = tables.contrast_tables(targets[targets.variant == "padding"], params)
    assert chosen.empty and pairs.empty and "p_adjusted" in pairs


@pytest.mark.parametrize("ranks, mean, deviation", [((1, 1, 0), 0.67, 0.47), ((1, 0, 0, 0, 0, 0), 0.17, 0.37), ((1, 0, 0, 0), 0.25, 0.43)])
def test_the_first_papers_deviations_are_the_populations(ranks, mean, deviation):
    targets = pd.DataFrame({"dataset": "d", "variant": "v", "list": [str(n) for n in range(len(ranks))], "target": 1, "success@0.1": ranks})
    row = tables.first_paper_table(targets).iloc[0]
    assert (round(row["success@0.1_mean"], 2), round(row["success@0.1_sd"], 2)) == (mean, deviation)


def test_first_places_of_a_search_that_the_evaluation_keeps():
    rows = [{"variant": "tap__m", "dataset": "d", "list": "l", "target": n, "r_after": after} for n, after in enumerate((1, 2, 1, 3))]
    edits = {"tap__m": [{"dataset": "d", "list": "l", "target": n, "search_mean_rank": r} for n, r in enumerate((1, 1, 1.5, 2))], "x": [{}]}
    (row,) = tables.search_table(pd.DataFrame(rows), edits).to_dict("records")
    assert row == {"variant": "tap__m", "targets": 4, "first in the search": 0.5, "first in the evaluation too": 0.5}
    assert tables.search_table(pd.DataFrame(rows), {"x": [{}]}).empty
