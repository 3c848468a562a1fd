import numpy as np
import pytest

from geobench.errors import GeoBenchError
from geobench.search.defences.disagreement import Disagreement, numbers


def same(texts):
    return np.ones((len(texts), 1))


def test_numbers_are_read_as_digits_without_list_marks():
    assert numbers("1. Water it every three days.") == {"3"} and numbers("Twenty-five grams, 2.5 litres") == {"25", "2.5"}
    assert numbers("No figures here") == frozenset()


def test_conflict_needs_another_source_and_support_cancels_it():
    texts = ["Water it every 3 days.", "Water it every 9 days.", "Nothing is said here at all."]
    assert Disagreement(same, 0.5).scores(texts, [1, 2, 3]).tolist() == [1, 1, 0]
    assert Disagreement(same, 0.5).scores(texts, [1, 1, 3]).tolist() == [0, 0, 0]
    three = ["Water it every 3 days.", "Water it every 9 days.", "Water it every 9 days, rarely."]
    assert Disagreement(same, 0.5).scores(three, [1, 2, 3]).tolist() == [1, 0, 0]
    assert [d.blocked() for d in Disagreement(same, 0.5).decide(three, [1, 2, 3])] == [True, False, False]


@pytest.mark.parametrize("documents, got", [(None, "none"), ([1], "1")])
def test_without_the_source_of_each_chunk_it_says_so(documents, got):
    with pytest.raises(GeoBenchError, match=f"expected the source of each of 2 chunks, got {got}"):
        Disagreement(same, 0.5).decide(["Water it every 3 days.", "Water it every 9 days."], documents)


def test_without_numbers_nothing_is_flagged():
    assert Disagreement(same, 0.1).scores(["Use baking soda for it.", "Use citric acid for it."], [1, 2]).tolist() == [0, 0]
