"""Bootstrap against a plain loop with the same draws, against scipy, and by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from geobench.errors import GeoBenchError
from geobench.rank_correlation import rank_correlation_table
from geobench.resampling import resample_counts
from geobench.stats import Estimate, cluster_mean, p_value, paired_difference, summarise


def table(sizes, seed=0, **columns):
    """Per-target table with random values: {data set: targets of each of its lists}."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "dataset": dataset,
            "list": f"l{k}",
            "target": target,
            "nrg": rng.normal(),
            "success@0.1": rng.integers(2),
        }
        for dataset, lists in sizes.items()
        for k, targets in enumerate(lists)
        for target in range(1, targets + 1)
    ]
    return pd.DataFrame(rows).assign(**columns)


SIZES = {"a": [3, 5, 2, 8], "b": [4, 4], "c": [6]}


def loop(data, value, resamples, seed, weighting):
    """The same bootstrap as loops: every resample collects the targets of the lists that were drawn."""
    groups = {
        d: [part[value].to_numpy(float) for _, part in g.groupby("list")] for d, g in data.groupby("dataset")
    }
    means = []
    for counts in resample_counts({d: len(lists) for d, lists in groups.items()}, resamples, seed):
        counts, per_dataset = list(counts), []
        for lists in groups.values():
            drawn = [values for values in lists for _ in range(counts.pop(0))]
            per_dataset.append(np.concatenate(drawn))
        by_target = np.concatenate(per_dataset).mean()
        means.append(by_target if weighting == "target" else np.mean([v.mean() for v in per_dataset]))
    return np.array(means)


@pytest.mark.parametrize("weighting", ["dataset", "target"])
@pytest.mark.parametrize("value", ["nrg", "success@0.1"])
def test_equals_a_plain_loop_with_the_same_draws(weighting, value):
    data = table(SIZES)
    estimate = cluster_mean(data.sample(frac=1, random_state=1), value, 300, 5, weighting, "published")
    means = loop(data, value, 300, 5, weighting)
    low, high = np.percentile(means, [2.5, 97.5])
    got = (estimate.lo, estimate.hi, estimate.se)
    np.testing.assert_allclose(got, (low, high, means.std(ddof=1)), atol=1e-12, rtol=0)
    whole = data[value].mean() if weighting == "target" else data.groupby("dataset")[value].mean().mean()
    assert estimate.mean == pytest.approx(whole, abs=1e-12)
    assert (estimate.n_targets, estimate.n_lists, estimate.n_datasets) == (32, 7, 3)


def test_lists_of_one_item_agree_with_scipy():
    from scipy.stats import bootstrap

    data = table({"a": [1] * 60})
    ours = cluster_mean(data, "nrg", 5000, 0, inference="published")
    theirs = bootstrap((data["nrg"].to_numpy(),), np.mean, n_resamples=5000, method="percentile", rng=0)
    np.testing.assert_allclose([ours.lo, ours.hi], theirs.confidence_interval, atol=0.02)
    assert ours.se == pytest.approx(theirs.standard_error, rel=0.05)


def test_two_lists_by_hand():
    # Lists of means 0 and 1 with equal sizes: resampled means 0, 1/2, 1 with chances 1/4, 1/2, 1/4.
    data = pd.DataFrame(
        {"dataset": "a", "list": ["x", "x", "y", "y"], "target": [1, 2, 1, 2], "nrg": [0.0, 0.0, 1.0, 1.0]}
    )
    estimate = cluster_mean(data, "nrg", 4000, 0, inference="published")
    assert (estimate.mean, estimate.lo, estimate.hi, estimate.note) == (0.5, 0, 1, "")
    assert estimate.se == pytest.approx(math.sqrt(1 / 8), rel=0.05)


def test_data_sets_count_equally_unless_targets_do():
    data = table({"a": [1, 1], "b": [4, 4]}, nrg=[1.0, 1.0] + [0.0] * 8)
    assert cluster_mean(data, "nrg", 50, 0).mean == 0.5
    assert cluster_mean(data, "nrg", 50, 0, "target").mean == pytest.approx(0.2)


def test_a_data_set_of_one_list_has_no_interval():
    estimate = cluster_mean(table({"a": [8]}), "nrg", 100, 0)
    assert math.isfinite(estimate.mean)
    assert all(map(math.isnan, (estimate.lo, estimate.hi, estimate.se)))
    assert estimate.note == "no interval: one list in a"
    assert (
        cluster_mean(table({"a": [8], "b": [3]}), "nrg", 100, 0).note == "no interval: one list in a, b"
    )


def test_the_overall_interval_names_data_sets_of_one_list():
    estimate = cluster_mean(table(SIZES), "nrg", 100, 0)
    assert estimate.lo < estimate.mean < estimate.hi
    assert estimate.note == "no variance between lists from c (one list)"


def test_summarise_shares_the_draws_of_all_variants():
    first = table(SIZES, ranker="r", variant="v")
    second = first.assign(variant="w", nrg=first["nrg"] + 1)
    rows = summarise(pd.concat([second, first]), ["nrg", "success@0.1"], resamples=200, seed=3)
    assert rows[["ranker", "variant", "value"]].values.tolist() == [
        ["r", "v", "nrg"],
        ["r", "v", "success@0.1"],
        ["r", "w", "nrg"],
        ["r", "w", "success@0.1"],
    ]
    v, w = rows.iloc[0], rows.iloc[2]
    np.testing.assert_allclose(
        [w["mean"] - v["mean"], w.lo - v.lo, w.hi - v.hi, w.se - v.se], [1, 1, 1, 0], atol=1e-12
    )
    alone = cluster_mean(first, "success@0.1", 200, 3)
    assert rows.iloc[1][["mean", "lo", "hi", "se"]].tolist() == pytest.approx(
        [alone.mean, alone.lo, alone.hi, alone.se]
    )


def test_summarise_by_data_set():
    rows = summarise(
        table(SIZES, ranker="r", variant="v"), ["nrg"], by=("ranker", "variant", "dataset"), resamples=50
    )
    assert rows["dataset"].tolist() == ["a", "b", "c"]
    assert rows["note"].tolist() == ["", "", "no interval: one list in c"]
    assert rows["n_targets"].tolist() == [18, 8, 6]


def test_summarise_reports_what_a_variant_lacks():
    full = table(SIZES, ranker="r", variant="full")
    part = full[(full["dataset"] != "b") & (full["target"] > 1)].assign(variant="part")
    rows = summarise(pd.concat([full, part]), ["nrg"], resamples=50)
    assert rows["note"].tolist() == [
        "no variance between lists from c (one list)",
        "no variance between lists from c (one list); 13 of 32 targets missing (first a/l0/1), none of b",
    ]
    by_data_set = summarise(pd.concat([full, part]), ["nrg"], by=("variant", "dataset"), resamples=50)
    notes = by_data_set.set_index(["variant", "dataset"])["note"]
    assert notes["part", "a"] == "4 of 18 targets missing (first a/l0/1)"
    assert notes["full", "b"] == ""


def test_paired_difference_by_hand():
    first, second = table(SIZES), table(SIZES, seed=1)
    difference = paired_difference(first, second.sample(frac=1, random_state=0), "nrg", 300, 2)
    direct = first.assign(nrg=first["nrg"] - second["nrg"])
    assert difference == cluster_mean(direct, "nrg", 300, 2)
    same = paired_difference(first, first, "nrg", 300, 2)
    assert (same.mean, same.lo, same.hi, same.se, p_value(same)) == (0, 0, 0, 0, 1)


def test_paired_difference_takes_shared_targets_and_says_so():
    first, second = table({"a": [3, 3]}), table({"a": [3, 2, 1]})
    difference = paired_difference(first, second, "nrg", 50, 0)
    assert (difference.n_targets, difference.note) == (
        5,
        "left out 1 targets of the first table, 1 of the second",
    )
    with pytest.raises(GeoBenchError, match="share no target"):
        paired_difference(table({"a": [2]}), table({"b": [2]}), "nrg", 50, 0)


def test_p_value():
    def estimate(mean, se):
        return Estimate(mean, 0, 0, se, 1, 1, 1)

    assert p_value(estimate(1.959963984540054, 1)) == pytest.approx(0.05)
    assert p_value(estimate(-2, 1)) == pytest.approx(0.0455002638963584)
    assert p_value(estimate(0, 0)) == p_value(estimate(1e-17, 1e-17)) == 1
    assert math.isnan(p_value(estimate(0.1, 0))) and math.isnan(p_value(estimate(0.1, 1e-17)))  # no spread is no certainty
    assert math.isnan(p_value(estimate(0.1, math.nan)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.assign(nrg=t["nrg"].where(t["target"] != 5)), "a l1 5: nan in one of"),
        (lambda t: t.assign(list=t["list"].where(t["target"] != 5)), "nan in one of"),
        (lambda t: pd.concat([t, t.tail(1)]), "c l0 6: this target comes twice"),
        (lambda t: t.head(0), "no rows"),
        (lambda t: t.drop(columns="nrg"), "expected a per-target table with nrg"),
    ],
)
def test_bad_tables_are_refused(change, message):
    bad, good = change(table(SIZES, ranker="r", variant="v")), table(SIZES)
    with pytest.raises(GeoBenchError, match=message):
        cluster_mean(bad, "nrg", 50, 0)
    with pytest.raises(GeoBenchError, match=message):
        summarise(bad, ["nrg"], resamples=50)
    with pytest.raises(GeoBenchError, match=message):
        paired_difference(good, bad, "nrg", 50, 0)


def test_bad_settings_are_refused():
    with pytest.raises(GeoBenchError, match="weighting"):
        cluster_mean(table(SIZES), "nrg", 50, 0, "list")
    with pytest.raises(GeoBenchError, match="resamples"):
        cluster_mean(table(SIZES), "nrg", 1, 0, inference="published")
    with pytest.raises(GeoBenchError, match="expected inference `t` or `published`, got 'wald'"):
        cluster_mean(table(SIZES), "nrg", inference="wald")


def test_summary_feeds_the_rank_correlations():
    parts = [
        table(SIZES, nrg=float(place), ranker=ranker, variant=variant)
        for ranker, variants in {"x": "abcde", "y": "edcba"}.items()
        for place, variant in enumerate(variants)
    ]
    assert rank_correlation_table(summarise(pd.concat(parts), ["nrg"], resamples=20), "nrg").loc[
        "x", "y"
    ] == pytest.approx(-1)


def test_5000_resamples_of_83_lists_take_little_time():
    import time

    sizes = {"a": [8] * 50, "b": [10] * 3, "c": [10] * 4, "d": [10] * 20, "e": [10] * 6}
    data = pd.concat([table(sizes, ranker="r", variant=f"v{k}") for k in range(6)])
    started = time.perf_counter()
    rows = summarise(data, ["nrg", "success@0.1"])
    assert len(rows) == 12
    assert time.perf_counter() - started < 10
