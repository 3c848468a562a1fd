import pytest

from geobench.errors import GeoBenchError
from geobench.search.defences.unions import union_rate, union_taus


def test_members_share_one_budget():
    a, b = [0.1, 0.2, 0.3, 0.4, 0.5], [5.0, 4.0, 3.0, 2.0, 1.0]  # the highest of one is the lowest of the other
    taus = union_taus([a, b], 0.4)
    assert union_rate([a, b], taus) == pytest.approx(0.4) and 0.4 < taus[0] <= 0.5 and 4.0 < taus[1] <= 5.0
    assert union_rate([a, b], union_taus([a, b], 0.2)) == 0  # one text may be blocked, but each member would take its own
    assert union_rate([a, a], union_taus([a, a], 0.2)) == pytest.approx(0.2)


def test_the_same_texts_are_expected():
    with pytest.raises(GeoBenchError, match="same harmless texts, got 2, 1"):
        union_taus([[1, 2], [1]], 0.1)
