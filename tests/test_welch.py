"""Welch's t against scipy for one data set and two, and by hand; bad input in one line; coverage by simulation."""

import importlib.util
import math
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from geobench import paths
from geobench.params import load
from geobench.stats import cluster_mean, p_value, paired_difference
from geobench.welch import contributions, interval, p_values, t_ends, welch


def rows(lists, dataset="d", value="nrg"):
    """A table of lists, each a list of its targets' values."""
    found = [(dataset, f"l{n}", t, v) for n, targets in enumerate(lists) for t, v in enumerate(targets)]
    return pd.DataFrame(found, columns=["dataset", "list", "target", value])


def test_one_data_set_is_the_one_sample_t_test_on_list_means():
    values = np.random.default_rng(0).normal(size=(7, 4)).round(2)
    found, means = cluster_mean(rows(values.tolist()), "nrg"), values.mean(axis=1)
    test = scipy_stats.ttest_1samp(means, 0)
    assert [found.lo, found.hi, p_value(found), found.df] == pytest.approx([*test.confidence_interval(), test.pvalue, 6])
    assert (found.mean, found.se) == pytest.approx((means.mean(), means.std(ddof=1) / math.sqrt(7)))


def test_two_data_sets_by_hand_and_with_scipys_standard_error():
    a, b = [0.0, 2.0, 4.0], [1.0, 2.0]
    found = cluster_mean(pd.concat([rows([[v] for v in a], "a"), rows([[v] for v in b], "b")]), "nrg")
    # the mean of 2 and 1.5; variances 4/3 and 0.5/2, over 2^2
    first, second = 4 / 3 / 4, 0.25 / 4
    free = (first + second) ** 2 / (first**2 / 4 + second**2 / 3) - 2
    assert (found.mean, found.se, found.df) == pytest.approx((1.75, math.sqrt(first + second), free))
    half = scipy_stats.t.ppf(0.975, free) * math.sqrt(first + second)
    assert (found.lo, found.hi) == pytest.approx((1.75 - half, 1.75 + half))
    ours = scipy_stats.ttest_ind(a, [-v for v in b], equal_var=False)  # t of a's mean + b's mean, the same ratio as of their half
    assert found.mean / found.se == pytest.approx(ours.statistic)


def test_degrees_of_freedom_lie_between_the_smallest_data_sets_and_nearly_the_sum():
    sizes = {"a": 2, "b": 2, "c": 2}
    equal, one = np.tile([1.0, -1.0], 3), np.array([1.0, -1.0, 0, 0, 0, 0])
    assert welch(np.column_stack([equal, one]), sizes)[1] == pytest.approx([7, 1])


def test_lists_of_unequal_size_are_a_ratio():
    sums = np.array([[3.0, 3], [1, 1], [0, 2]])  # a list's sum, its targets
    made, left = contributions(sums, {"d": 3}, "dataset")
    mean = 4 / 6
    assert made.sum() == pytest.approx(mean)
    assert left[:, 0] == pytest.approx([(3 - 3 * mean) / 6, (1 - mean) / 6, (0 - 2 * mean) / 6])
    assert welch(left, {"d": 3})[0][0] == pytest.approx(math.sqrt(3 / 2 * (left**2).sum()))


def test_a_data_set_of_one_list_adds_its_mean_and_no_variance():
    both = pd.concat([rows([[1.0], [3.0]], "a"), rows([[5.0, 7.0]], "b")])
    found = cluster_mean(both, "nrg")
    assert (found.mean, found.se, found.df) == pytest.approx((4, math.sqrt(1) / 2, 1))
    assert found.note == "no variance between lists from b (one list)"


def test_one_list_alone_has_no_interval_and_says_why():
    found = cluster_mean(rows([[1.0, 2.0]]), "nrg")
    assert found.note == "no interval: one list in d" and all(map(math.isnan, (found.lo, found.se, found.df, p_value(found))))


def test_equal_values_have_no_spread():
    found = cluster_mean(rows([[0.1, 0.1], [0.1], [0.1]]), "nrg")
    assert (found.mean, found.lo, found.hi, found.se) == pytest.approx((0.1, 0.1, 0.1, 0)) and math.isnan(p_value(found))
    same = paired_difference(rows([[0.3], [0.2]]), rows([[0.3], [0.2]]), "nrg")
    assert (same.mean, same.lo, same.hi, p_value(same)) == (0, 0, 0, 1)


def test_p_is_of_t_or_where_there_are_no_degrees_of_freedom_of_the_normal():
    p = p_values([2.0, 2.0, -2.0], [1.0, 1.0, 1.0], [3.0, math.nan, 3.0])
    assert p == pytest.approx([2 * scipy_stats.t.sf(2, 3), 2 * scipy_stats.norm.sf(2), 2 * scipy_stats.t.sf(2, 3)])
    low, high = t_ends([0.0, 1.0, 1.0], [1.0, 0.0, math.nan], [5.0, math.nan, math.nan])
    assert [low[0], high[0], low[1], high[1]] == pytest.approx([-scipy_stats.t.ppf(0.975, 5), scipy_stats.t.ppf(0.975, 5), 1, 1])
    assert math.isnan(low[2]) and math.isnan(high[2])


def test_the_interval_of_one_mean():
    values = np.array([0.2, 0.5, 0.9, 0.1])
    test = scipy_stats.ttest_1samp(values, 0)
    found = interval(values.mean(), (values - values.mean()) / 4, {"d": 4})
    assert found == pytest.approx((*test.confidence_interval(), test.pvalue))


def test_the_papers_profiles_keep_the_papers_intervals():
    assert [load(name).inference for name in ("smoke", "paper", "paper_v1", "released")] == ["t", "t", "published", "published"]


def test_published_gives_the_figures_of_earlier_versions():
    frame = benchmark("statistics").study(variants=4)
    found = cluster_mean(frame[frame.variant == "v00"], "nrg", 300, inference="published")
    old = (-0.026406263441619247, -0.07620380524338634, 0.022908263857883266, 0.026218772301849692)
    assert (found.mean, found.lo, found.hi, found.se) == pytest.approx(old, rel=1e-12)


def benchmark(name):
    spec = importlib.util.spec_from_file_location(f"bench_{name}", paths.ROOT / "benchmarks" / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["normal", "gains", "permuted"])
def test_six_lists_keep_their_level(kind):
    coverage = benchmark("coverage")
    found = coverage.row("smoke", kind, "dataset", "t", 200)
    assert 0.93 <= found["coverage_difference"] <= 0.97 and found["family_wise_max_t"] <= 0.07
    assert kind == "permuted" or 0.93 <= found["coverage_mean"] <= 0.97
    assert coverage.row("smoke", kind, "dataset", "published", 50)["coverage_difference"] < 0.85  # why `published` is not the default


def test_the_table_of_coverage_holds_the_level_where_the_readme_says_so():
    table = pd.read_csv(paths.ROOT / "data" / "coverage.csv")
    held = table[(table.inference == "t") & table.design.isin(["smoke", "papers"])]
    even = held[held["values"] != "uneven"]
    assert set(held.lists) == {"2+2+2", "50+3+4+20+6"} and set(held.weighting) == {"dataset", "target"}
    assert held.family_wise_max_t.max() <= 0.07
    assert even.coverage_difference.between(0.93, 0.97).all() and even.coverage_mean.dropna().between(0.93, 0.97).all()
