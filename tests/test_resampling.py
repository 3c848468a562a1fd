import numpy as np
import pytest

from geobench.errors import GeoBenchError
from geobench.resampling import CHUNK, resample_counts, resampled_means


def test_counts_draw_as_many_lists_as_there_are():
    counts = resample_counts({"a": 5, "b": 1, "c": 3}, 200, 0)
    assert counts.shape == (200, 9)
    assert (counts[:, :5].sum(1) == 5).all()
    assert (counts[:, 5] == 1).all()
    assert (counts[:, 6:].sum(1) == 3).all()
    assert counts[:, :5].mean() == 1
    assert (resample_counts({"c": 3}, 200, 0) == counts[:, 6:]).all()  # a data set's draws are its own
    assert (resample_counts({"a": 5}, 200, 1) != counts[:, :5]).any()


def test_draws_do_not_depend_on_the_chunks(monkeypatch):
    whole = resample_counts({"a": 5, "b": 3}, 2 * CHUNK + 7, 4)
    monkeypatch.setattr("geobench.resampling.CHUNK", 10**6)
    assert (resample_counts({"a": 5, "b": 3}, 2 * CHUNK + 7, 4) == whole).all()
    assert (resample_counts({"a": 5, "b": 3}, CHUNK, 4) == whole[:CHUNK]).all()


def test_means_by_hand():
    keys = np.array([["a", "l1"], ["a", "l1"], ["a", "l2"], ["b", "m1"]])
    numbers = np.array([[1.0, 0], [0, 0], [1, 0], [0, 1]])
    for weighting, first in (("dataset", [(2 / 3) / 2, 0.5]), ("target", [0.5, 0.25])):
        means, sizes = resampled_means(keys, numbers, 300, 0, weighting)
        assert sizes == {"a": 2, "b": 1} and means.shape == (301, 2) and means[0].tolist() == pytest.approx(first)
    drawn = resample_counts(sizes, 300, 0)  # l1 and l2 hold 1 of 2 and 1 of 1
    assert means[1:, 0].tolist() == pytest.approx(((drawn[:, 0] + drawn[:, 1]) / (2 * drawn[:, 0] + drawn[:, 1] + 1)).tolist())


def test_bad_arguments_are_refused():
    with pytest.raises(GeoBenchError, match="expected >= 2 resamples"):
        resample_counts({"a": 2}, 1, 0)
    with pytest.raises(GeoBenchError, match="expected weighting `dataset` or `target`, got 'list'"):
        resampled_means(np.array([["a", "l"]]), np.ones((1, 1)), 10, 0, "list")
