"""Holm against statsmodels; max-t against a loop over all signs, and by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from geobench.contrasts import contrast_table
from geobench.multiplicity import chosen, described, holm_ps, least_p, max_t_ps, scales, sign_patterns


def test_holm_is_that_of_statsmodels_and_leaves_nan_out():
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(0).uniform(size=30) ** 3
    p[[3, 11]] = p[5]  # ties
    np.testing.assert_allclose(holm_ps(p), multipletests(p, method="holm")[1], rtol=1e-12)
    assert holm_ps([0.01, np.nan, 0.04]) == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)
    assert np.isnan(holm_ps([np.nan])).all()


def test_max_t_is_a_loop_over_all_signs():
    made = np.random.default_rng(1).normal(size=(6, 5)) + np.array([2, 1, 0, 0, 0])
    unit = made / scales(made)
    seen = np.abs(unit.sum(axis=0))
    want, least = {}, 0.0
    left = list(np.argsort(-seen))
    while left:  # step down: the largest statistic against the largest of all that are left
        draws = [np.abs(np.array(signs) @ unit[:, left]).max() for signs in product([1, -1], repeat=6)]
        least = want[left[0]] = max(least, np.mean(np.array(draws) >= seen[left[0]] * (1 - 1e-9)))
        left = left[1:]
    assert max_t_ps(made) == pytest.approx([want[n] for n in range(5)])


def test_one_pair_that_wins_in_every_list():
    assert max_t_ps(np.full((6, 1), 0.2))[0] == least_p(6) == 1 / 32
    assert max_t_ps(np.array([[0.2], [0.2], [-0.2], [-0.2]]))[0] == 1


def test_pairs_share_the_draws_and_order_of_columns_does_not_matter():
    made = np.random.default_rng(2).normal(size=(20, 7)) + 0.5
    order = np.random.default_rng(3).permutation(7)
    assert (max_t_ps(made[:, order], 500, 4) == max_t_ps(made, 500, 4)[order]).all()
    assert (max_t_ps(made, 500, 4) == max_t_ps(made, 500, 4)).all() and (max_t_ps(made, 500, 4) >= 1 / 500).all()


def test_sign_patterns_are_all_or_random_and_begin_with_the_datas_own():
    every = np.concatenate(list(sign_patterns(4, 100, 0)))
    assert every.shape == (8, 4) and len(np.unique(every, axis=0)) == 8 and (every[0] == 1).all()
    assert not any((every == -row).all(axis=1).any() for row in every)  # a pattern and its opposite count once
    drawn = np.concatenate(list(sign_patterns(100, 600, 0)))
    assert drawn.shape == (600, 100) and (drawn[0] == 1).all() and abs(drawn[1:].mean()) < 0.02


def test_nothing_differs():
    assert max_t_ps(np.zeros((4, 3))).tolist() == [1, 1, 1]


def test_what_belongs_to_an_inference_and_its_words():
    assert [chosen("t", None), chosen("published", None), chosen("t", "holm")] == ["max_t", "holm", "holm"]
    assert described("published", None) == "p: Wald tests, adjusted over all pairs by Holm."


def test_a_table_says_how_small_an_adjusted_p_can_get():
    rows = [{"variant": v, "dataset": "d", "list": f"l{n}", "target": 1, "nrg": g + n * n * s}
            for v, g, s in (("x", 0.9, 0.01), ("y", 0.1, 0.0)) for n in range(5)]  # fmt: skip
    found = contrast_table(pd.DataFrame(rows), "nrg").iloc[0]
    assert found.p < 1e-4 and found.p_adjusted == 1 / 16 and found.note == "no adjusted p below 0.0625 from 5 lists under `max_t`"
    six = contrast_table(pd.DataFrame(rows + [r | {"list": "l5"} for r in rows if r["list"] == "l4"]), "nrg").iloc[0]
    assert six.p_adjusted == 1 / 32 and six.note == ""
