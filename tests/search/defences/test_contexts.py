import pytest

from geobench.errors import GeoBenchError
from geobench.search.defences.contexts import parse_configuration, survivors


def test_dropping_leaves_the_gap_and_may_empty_the_context():
    assert survivors([False, True, False, False], 3) == [0, 2]
    assert survivors([True, True, True, False], 3) == []


def test_refilling_goes_down_the_list_in_order():
    assert survivors([False, True, False, True, False, False], 3, "refill") == [0, 2, 4]
    assert survivors([True, True, True, False], 3, "refill") == [3]
    assert survivors([True] * 4, 3, "refill") == []


def test_before_the_reranker_dropping_always_refills():
    assert survivors([True, False, False, False], 3, "drop", "before_rerank") == [1, 2, 3]


def test_unknown_policies_and_defences_are_refused():
    with pytest.raises(GeoBenchError, match="defence policy: expected drop or refill, got `dorp`.*`drop`"):
        survivors([False], 1, "dorp")
    assert parse_configuration("guard:refill", ("guard",)) == ("guard", "refill")
    with pytest.raises(GeoBenchError, match="unknown defence `gaurd`.*`guard`"):
        parse_configuration("gaurd:drop", ("guard", "tfidf"))
    with pytest.raises(GeoBenchError, match="expected DEFENCE:POLICY"):
        parse_configuration("guard", ("guard",))
