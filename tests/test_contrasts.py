"""Contrasts against single paired differences, a plain loop with the same draws, statsmodels."""

import importlib.util
import math
import sys

import numpy as np
import pandas as pd
import pytest

from geobench import paths
from geobench.contrasts import _neighbours, contrast_table
from geobench.errors import GeoBenchError
from geobench.stats import cluster_mean, p_value, paired_difference


def study(sizes, variants="abc", seed=0):
    rng = np.random.default_rng(seed)
    keys = [(d, f"l{n}", t) for d, lists in sizes.items() for n, size in enumerate(lists) for t in range(size)]
    frame = pd.DataFrame(keys * len(variants), columns=["dataset", "list", "target"])
    return frame.assign(variant=np.repeat(list(variants), len(keys)), nrg=rng.normal(size=len(frame)))


def benchmark(name):
    spec = importlib.util.spec_from_file_location(f"bench_{name}", paths.ROOT / "benchmarks" / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SIZES = {"a": [3, 5, 2, 8], "b": [4, 4], "c": [6]}


@pytest.mark.parametrize("inference", ["t", "published"])
@pytest.mark.parametrize("weighting", ["dataset", "target"])
def test_every_pair_equals_its_paired_difference(weighting, inference):
    frame = study(SIZES)
    frame = frame[~((frame.variant == "b") & (frame.target > 2)) & ~((frame.variant == "c") & (frame.dataset == "b"))]
    table = contrast_table(frame.sample(frac=1, random_state=0), "nrg", 300, 4, weighting, inference, "holm")
    assert table[["a", "b"]].values.tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    parts = dict(list(frame.groupby("variant")))
    for row in table.itertuples():
        one = paired_difference(parts[row.a], parts[row.b], "nrg", 300, 4, weighting, inference)
        np.testing.assert_allclose([row.mean, row.lo, row.hi, row.se, row.p], [one.mean, one.lo, one.hi, one.se, p_value(one)], atol=1e-12)
        assert row.df == pytest.approx(one.df, nan_ok=True)
        assert (row.n_targets, row.n_lists, row.n_datasets) == (one.n_targets, one.n_lists, one.n_datasets)
    assert table.note[0] == "no variance between lists: one list in c; left out 12 targets of a, 0 of b"
    assert table.note[1] == "no variance between lists: one list in c; none of b; left out 8 targets of a, 0 of b"


def test_equals_a_plain_loop_with_the_same_draws():
    bench = benchmark("statistics")
    frame = bench.study(variants=5)
    table = contrast_table(frame, "nrg", 400, inference="published")
    assert (len(table), table.n_targets[0], table.n_lists[0], table.n_datasets[0]) == (10, 729, 83, 5)
    for ours, loop in zip((table.lo, table.hi, table.se), bench.by_loop(frame, 400)):
        np.testing.assert_allclose(ours, loop, atol=1e-12, rtol=0)


@pytest.mark.parametrize("inference", ["t", "published"])
def test_one_list_gives_no_interval_and_no_p(inference):
    table = contrast_table(study({"a": [5]}), "nrg", 50, inference=inference)
    assert table[["lo", "hi", "se", "p", "p_adjusted"]].isna().all().all() and table["mean"].notna().all()
    assert set(table.note) == {"no interval: one list in a"}


def test_variants_that_share_no_target():
    frame = pd.concat([study({"a": [2, 2]}, "x"), study({"b": [2, 2]}, "y")])
    row = contrast_table(frame, "nrg", 50).iloc[0]
    assert math.isnan(row["mean"]) and row.n_targets == 0 and "share no target" in row.note


@pytest.mark.parametrize("inference", ["t", "published"])
def test_a_pair_without_spread_is_not_significant(inference):
    frame = study({"a": [1, 1], "b": [1, 1]}, "xyz").sort_values(["variant", "dataset", "list"])
    frame["nrg"] = np.repeat([0.5, 0.1, 0.1], 4) + np.tile([0, 1 / 3, 1 / 7, 0], 3)  # y and z are equal, x is the same amount above both
    table = contrast_table(frame, "nrg", 200, inference=inference, multiplicity="holm").set_index(["a", "b"])
    assert table.loc[("x", "y"), ["mean", "lo", "hi", "se"]].tolist() == pytest.approx([0.4, 0.4, 0.4, 0])
    assert table["se"].eq(0).all() and table["p"].isna().tolist() == [True, True, False] and table["p"].iloc[2] == 1
    assert not (table["p_adjusted"] < 0.05).any()
    assert table["note"].tolist() == ["no test: the lists of each data set give the same difference"] * 2 + [""]


def test_selections_find_what_a_sort_finds():
    rng = np.random.default_rng(0)
    for count in (2, 3, 5, 40, 41, 5000):
        block = rng.normal(size=(3, count)).round(1)  # with ties
        below = (np.array([2.5, 97.5]) / 100 * (count - 1)).astype(int)
        want = np.sort(block, axis=1)
        low, high = _neighbours(block, below)
        assert (low == want[:, below]).all() and (high == want[:, below + 1]).all()


def test_bad_tables_are_refused():
    with pytest.raises(GeoBenchError, match="two variants or more, got a"):
        contrast_table(study(SIZES, "a"), "nrg", 50)
    with pytest.raises(GeoBenchError, match="comes twice"):
        contrast_table(pd.concat([study(SIZES)] * 2), "nrg", 50)


def test_agrees_with_statsmodels_cluster_robust_errors():
    import statsmodels.api as sm

    rng = np.random.default_rng(3)
    frame = study({"a": [6] * 60}, "ab", seed=1)
    frame["nrg"] += rng.normal(0, 1, 60)[frame["list"].str[1:].astype(int)] * (frame.variant == "a")
    wide = frame.pivot(index=["list", "target"], columns="variant", values="nrg")
    fit = sm.OLS(wide["a"] - wide["b"], np.ones(len(wide))).fit(
        cov_type="cluster", cov_kwds={"groups": pd.factorize(wide.index.get_level_values("list"))[0]}
    )
    row = contrast_table(frame, "nrg", 5000, inference="published").iloc[0]
    assert row["mean"] == pytest.approx(fit.params.iloc[0])
    assert row.se == pytest.approx(fit.bse.iloc[0], rel=0.05)
    assert row.p == pytest.approx(fit.pvalues.iloc[0], rel=0.3, abs=0.01)
    assert contrast_table(frame, "nrg")["se"][0] == pytest.approx(fit.bse.iloc[0])


def test_target_weights_are_another_question():
    frame = study({"a": [1, 1], "b": [8, 8]}, "xy").assign(nrg=0.0)
    frame.loc[(frame.variant == "x") & (frame.dataset == "a"), "nrg"] = 1.0
    assert contrast_table(frame, "nrg", 50)["mean"][0] == 0.5
    assert contrast_table(frame, "nrg", 50, weighting="target")["mean"][0] == pytest.approx(2 / 18)
    assert cluster_mean(frame[frame.variant == "x"], "nrg", 50).mean == 0.5
