"""Kappas against scikit-learn and statsmodels, intervals against a plain loop, and by hand."""

import math

import numpy as np
import pytest

from geobench.errors import GeoBenchError
from geobench.search.agreement import cohen, fleiss


def ratings(seed, n=80):
    rng = np.random.default_rng(seed)
    a = rng.choice([0, 0.5, 1], n)
    return a, np.where(rng.random(n) < 0.6, a, rng.choice([0, 0.5, 1], n))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("linear", [False, True])
def test_cohen_against_scikit_learn(seed, linear):
    from sklearn.metrics import cohen_kappa_score

    a, b = ratings(seed)
    weights = "linear" if linear else None
    reference = cohen_kappa_score((a * 2).astype(int), (b * 2).astype(int), labels=[0, 1, 2], weights=weights)
    found = cohen(list(a), list(b), linear, resamples=200)
    assert found["kappa"] == pytest.approx(reference, abs=1e-12) and found["lo"] < found["kappa"] < found["hi"]


@pytest.mark.parametrize("seed", range(3))
def test_fleiss_against_statsmodels(seed):
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    table = np.stack([*ratings(seed), ratings(seed)[1][::-1]], axis=1)
    reference = fleiss_kappa(aggregate_raters((table * 2).astype(int), n_cat=3)[0])
    assert fleiss(table.tolist(), resamples=50)["kappa"] == pytest.approx(reference, abs=1e-12)


def test_intervals_equal_a_plain_loop_with_the_same_draws():
    from sklearn.metrics import cohen_kappa_score

    a, b = ratings(9, 30)
    counts = np.random.default_rng(3).multinomial(30, np.full(30, 1 / 30), size=60)
    values = [
        cohen_kappa_score(np.repeat(a * 2, c).astype(int), np.repeat(b * 2, c).astype(int), labels=[0, 1, 2], weights="linear")
        for c in counts
    ]
    found = cohen(list(a), list(b), True, resamples=60, seed=3)
    np.testing.assert_allclose([found["lo"], found["hi"]], np.percentile(values, (2.5, 97.5)), atol=1e-12)


def test_by_hand():
    # Agreement 3/4; chance 1/2 x 1/2 + 1/2 x 1/4 + 0 = 3/8; kappa = (3/4 - 3/8) / (5/8) = 0.6.
    assert cohen([0, 0, 1, 1], [0, 0, 1, 0.5], resamples=20)["kappa"] == pytest.approx(0.6)
    assert cohen([0, 1], [0, 1], resamples=20)["kappa"] == 1
    assert math.isnan(cohen([1, 1], [1, 1], resamples=20)["kappa"])


def test_faults():
    with pytest.raises(GeoBenchError, match="equally long"):
        cohen([1], [1, 0])
    with pytest.raises(GeoBenchError, match="got '0.7'"):
        cohen([0.7], [1])
    with pytest.raises(GeoBenchError, match="at least two raters"):
        fleiss([[1], [0]])
