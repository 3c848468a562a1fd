import pytest

from geobench.errors import GeoBenchError
from geobench.ladder_factors import factors_of
from geobench.params import load


def test_factors_depend_on_the_read_out_the_texts_and_the_orders():
    assert [*factors_of("smollm2-135m:generate", traced=True)] == ["selection", "items", "query", "template", "decoding", "orders"]
    assert [*factors_of("smollm2-135m:attention", orders=1)] == ["items", "query", "template"]
    with pytest.raises(GeoBenchError, match="`bm25` sees one item at a time"):
        factors_of("bm25")
    with pytest.raises(GeoBenchError, match="`bm25` sees one item at a time"):
        load("smoke", {"ladder_rankers": ["bm25"]})
