"""Bootstrap against a plain loop and scipy; tables by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from geobench.errors import GeoBenchError
from geobench.resampling import resample_counts
from geobench.search import statistics
from geobench.search.corpus import load_instances

NAMES = [f"q{n:02d}" for n in range(24)]


def test_bootstrap_equals_a_plain_loop_and_agrees_with_scipy():
    from scipy.stats import bootstrap

    values = np.random.default_rng(1).choice([0, 0.5, 1], 24)
    found = statistics.query_mean(values, NAMES, 10_000, 4, "published")
    loop = [np.mean([v for v, c in zip(values, counts) for _ in range(c)]) for counts in resample_counts({"search": 24}, 10_000, 4)[:500]]
    matrix = resample_counts({"search": 24}, 10_000, 4)[:500] @ values / 24
    np.testing.assert_allclose(loop, matrix, atol=1e-12)
    reference = bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=0).confidence_interval
    assert (found["lo"], found["hi"]) == pytest.approx(tuple(reference), abs=0.03)
    assert found["mean"] == values.mean() and found["n"] == 24


def test_a_mean_over_queries_has_the_one_sample_t_interval():
    values = np.random.default_rng(1).choice([0, 0.5, 1], 24)
    found = statistics.query_mean(values, NAMES)
    assert (found["lo"], found["hi"]) == pytest.approx(tuple(ttest_1samp(values, 0).confidence_interval()))


def test_nan_and_single_queries():
    found = statistics.query_mean([1, math.nan, 0], ["a", "b", "c"], 100)
    assert (found["mean"], found["n"], found["without"]) == (0.5, 2, 1)
    assert math.isnan(statistics.query_mean([1], ["a"], 100)["lo"])
    with pytest.raises(GeoBenchError, match="one value per query"):
        statistics.query_mean([1, 0], ["a", "a"])


@pytest.fixture
def frame():
    instances = load_instances()[:4]
    stances = {"clean": ["true"] * 4, "ip": ["true", "true", "true", "hedged"], "id": ["false", "false", "false", "beside"]}
    scores = {"true": (0, 1), "hedged": (0.5, 0.5), "beside": (0.5, 0.5), "false": (1, 0)}
    rows = [
        {"victim": v, "name": i.name, "condition": c, "stance": s, "asr": scores[s][0], "accuracy": scores[s][1]}
        for v in ("one", "two") for c, found in stances.items() for i, s in zip(instances, found)
    ]  # fmt: skip
    rows[-1] |= {"asr": 1.0, "accuracy": 0.0, "stance": "false"}  # victim two succeeds on the fourth query
    return statistics.answer_frame(rows, instances)


def test_main_and_level_tables(frame):
    table = statistics.main_table(frame, 200).set_index(["victim", "condition"])
    assert table.loc[("one", "id"), "asr"] == 0.875 and table.loc[("two", "id"), "asr"] == 1
    assert table.loc[("one", "ip"), "accuracy"] == 0.875 and table.loc[("one", "clean"), "asr"] == 0
    levels = statistics.level_table(frame).set_index(["victim", "condition"])
    assert levels.loc[("one", "id"), ["false", "beside", "true"]].tolist() == [3, 1, 0]


def test_paired_by_hand(frame):
    found = statistics.paired(frame[frame.victim == "one"], "asr", "id", "clean")
    assert (found["difference"], found["n"], found["note"]) == (0.875, 4, "")
    test = ttest_1samp([1, 1, 1, 0.5], 0)
    assert [found["lo"], found["hi"], found["p"]] == pytest.approx([*test.confidence_interval(), test.pvalue])
    assert statistics.paired(frame[frame.victim == "one"], "asr", "id", "clean", 2000, 0, "published")["p"] == 1 / 2000
    same = statistics.paired(frame[frame.victim == "one"], "asr", "clean", "clean")
    assert (same["difference"], same["lo"], same["hi"], same["p"], same["note"]) == (0, 0, 0, 1, "")
    sure = statistics.paired(frame[frame.victim == "two"], "asr", "id", "clean")
    assert (sure["difference"], sure["lo"], sure["note"]) == (1, 1, "no test: the same difference in every query") and math.isnan(sure["p"])
    assert len(statistics.paired_table(frame, 100)) == 6


def test_disagreement_categories_and_contested(frame):
    table = statistics.disagreement_table(frame).set_index("condition")
    assert table.loc["id", ["all_succeed", "none_succeeds", "disagree"]].tolist() == [0.75, 0, 0.25]
    assert table.loc["clean", "none_succeeds"] == 1
    categories = statistics.category_table(frame, 50)
    expected = sum(len(i.categories) for i in load_instances()[:4])
    assert categories[categories.victim == "one"]["n"].sum() == expected
    split = statistics.contested_table(frame, 50)
    assert set(split["truth"]) == {"contested", "solo"} and (split["n"] == 2).all()


def test_unparsed_answers_have_no_score():
    one = load_instances()[0]
    rows = [{"victim": "v", "name": one.name, "condition": "id", "stance": "unparsed", "asr": None, "accuracy": None}]
    table = statistics.main_table(statistics.answer_frame(rows, [one]), 10)
    assert table.loc[0, "without"] == 1 and pd.isna(table.loc[0, "asr"])
