"""Sizes that no device finishes are said by the dry run and refused by a run."""

import pytest

from geobench import dry_run, runner
from geobench.endless import endless
from geobench.errors import GeoBenchError
from geobench.params import load
from geobench.workload import Work


def test_years_by_hand():
    params = load("smoke")
    year = 349 * 365 * 24 * 3600  # tokens that SmolLM2 reads in a year
    work = [Work("05_ranking", "smollm2-135m", "much", 7, 12 * year), Work("05_ranking", "smollm2-135m", "less", 7, 9 * year)]
    assert endless(params, work) == ["05_ranking: much: 7 calls would take about 12 years on one device"]
    work[0].repeated = 3 * year
    assert endless(params, work) == []


@pytest.mark.parametrize("values, what", [
    ({"orders": 100_000_000}, "05_ranking: smollm2-135m:attention: "), ({"tap_depth": 10**12}, "03_black_box: tap__smollm2-135m"),
    ({"sts_steps": 10**12}, "02_white_box: sts__smollm2-135m"), ({"resamples": 10**8}, "resamples: at most 10,000,000 can be held"),
])  # fmt: skip
def test_absurd_sizes_are_printed_and_refused(values, what):
    plan = runner.plan("smoke", values)
    assert f"warning: {what}" in dry_run.estimate(plan)
    with pytest.raises(GeoBenchError, match="this cannot finish: ") as error:
        dry_run.refuse_endless(plan)
    assert what in str(error.value)


@pytest.mark.parametrize("profile, values", [("smoke", {}), ("paper", {"datasets": ["kitchen", "outdoor", "services"]})])
def test_ordinary_plans_pass(profile, values, monkeypatch):
    plan = runner.plan(profile, values)
    assert "in all about" in dry_run.estimate(plan) and "warning:" not in dry_run.estimate(plan)
    dry_run.refuse_endless(plan)
    monkeypatch.setattr("geobench.endless.YEARS", 0)
    with pytest.raises(GeoBenchError, match="05_ranking: .* would take about"):  # that work had been looked at
        dry_run.refuse_endless(plan)
