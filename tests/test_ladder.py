import pandas as pd
import pytest

from geobench.ladder import configurations, ladder

FACTORS = {"selection": ("best", "held out"), "orders": ("one", "median")}


def table(gain):
    keys = [(name, t) for name in "ab" for t in (1, 2)]
    return pd.DataFrame([{"dataset": "d", "list": name, "target": t, "nrg": gain + t / 10, "success@0.1": 1} for name, t in keys])


def test_rungs_change_one_factor_at_a_time():
    rungs = configurations(FACTORS)
    assert [(part, changed, tuple(config.values())) for part, _, changed, config in rungs] == [
        ("from published", "", ("best", "one")), ("from published", "selection", ("held out", "one")),
        ("from published", "orders", ("best", "median")), ("from shared", "", ("held out", "median")),
        ("from shared", "selection", ("best", "median")), ("from shared", "orders", ("held out", "one")),
        ("path", "", ("best", "one")), ("path", "selection", ("held out", "one")), ("path", "orders", ("held out", "median")),
    ]  # fmt: skip


def test_a_setting_between_the_ends_is_no_step_of_the_path():
    rungs = configurations({"selection": ("best", "last", "held out")})
    assert [(part, step, config["selection"]) for part, step, _, config in rungs] == [
        ("from published", 0, "best"), ("from published", 1, "last"), ("from published", 2, "held out"),
        ("from shared", 0, "held out"), ("from shared", 1, "best"), ("from shared", 2, "last"),
        ("path", 0, "best"), ("path", 1, "held out"),
    ]  # fmt: skip


def test_changes_are_paired_with_the_rung_that_differs_in_one_factor():
    worth = {("best", "one"): 0.8, ("held out", "one"): 0.5, ("best", "median"): 0.6, ("held out", "median"): 0.1}
    calls = []

    def evaluate(config):
        calls.append(tuple(config.values()))
        return table(worth[calls[-1]])

    rows = ladder(FACTORS, evaluate, resamples=20)
    assert len(calls) == 4  # every configuration once
    assert rows["change"].round(9).tolist() == [0, -0.3, -0.2, 0, 0.5, 0.4, 0, -0.3, -0.4]
    assert rows["nrg"].round(9).tolist()[:2] == [0.95, 0.65] and rows["p"].isna().all()  # the same change in every list is no test
    assert rows["note"].tolist()[:2] == ["", "no test: the lists of each data set give the same difference"]


def test_changes_that_differ_between_lists_are_tested():
    def evaluate(config):
        made = table(0.1)
        made.loc[made["list"] == "a", "nrg"] += 0.3 if config["orders"] == "one" else 0.1
        return made

    rows = ladder({"orders": FACTORS["orders"]}, evaluate, resamples=200)
    assert rows["p"].notna().tolist() == [False, True] * 3 and rows["p"][1] == pytest.approx(0.5) and (rows["note"] == "").all()
