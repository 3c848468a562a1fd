import numpy as np
import pytest

from geobench.detectors.trained import out_of_list_scores
from geobench.errors import GeoBenchError


def texts(shift):
    rng = np.random.default_rng(0)
    edited = np.tile([False, True], 30)
    lists = np.repeat([f"d/l{n}" for n in range(6)], 10)
    return rng.normal(size=(60, 4)) + shift * edited[:, None], edited, lists


def test_learns_what_edits_share():
    vectors, edited, lists = texts(2.0)
    scores = out_of_list_scores(vectors, edited, lists)
    assert scores[edited].mean() > 2 > -2 > scores[~edited].mean()


def test_a_list_is_scored_by_models_that_have_not_seen_it():
    vectors, edited, lists = texts(1.0)
    before = out_of_list_scores(vectors, edited, lists)
    swapped = np.where(lists == "d/l0", ~edited, edited)  # other labels in one list change the scores of all lists but that one
    after = out_of_list_scores(vectors, swapped, lists)
    assert (after[lists == "d/l0"] == before[lists == "d/l0"]).all() and (after[lists != "d/l0"] != before[lists != "d/l0"]).all()


def test_refusals():
    vectors, edited, lists = texts(1.0)
    with pytest.raises(GeoBenchError, match="two lists or more"):
        out_of_list_scores(vectors[:10], edited[:10], lists[:10])
    with pytest.raises(GeoBenchError, match="without d/l0, expected originals and edits"):
        out_of_list_scores(vectors[:20], [True] * 10 + [False] * 10, lists[:20])
