import math

import pytest

from geobench.errors import GeoBenchError
from geobench.search.defences.base import Decision, by_score, threshold, unite


def test_a_score_at_tau_is_risk_and_below_it_is_not():
    assert by_score(0.9, 0.9).blocked() and not by_score(0.8999, 0.9).blocked()
    assert by_score(0.9, 0.9).polarity == "high_is_risk" and by_score(0.5, 0.9).parsed
    with pytest.raises(GeoBenchError, match="expected a score, got nan"):
        by_score(math.nan, 0.9)


def test_the_unparsed_policy_decides_only_where_nothing_was_read():
    unread, safe, risky = (Decision(r, "yes_is_risk", raw="?") for r in (None, False, True))
    assert not unread.parsed and not unread.blocked("keep") and unread.blocked("block")
    assert not safe.blocked("block") and risky.blocked("keep")
    assert unread.record()["parsed"] is False and unread.record()["raw"] == "?"
    with pytest.raises(GeoBenchError, match="unparsed policy: expected keep or block, got `?'?pass"):
        unread.blocked("pass")


def test_tau_blocks_at_most_the_rate_of_harmless_scores():
    scores = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert 0.9 < threshold(scores, 0.1) <= 1.0 and sum(s >= threshold(scores, 0.1) for s in scores) == 1
    assert threshold(scores, 0.0) > 1.0 and threshold(scores, 1.0) == 0.1
    assert sum(s >= threshold(scores, 0.29) for s in scores) == 2
    assert sum(s >= threshold([0.5, 0.5, 0.5, 0.1], 0.25) for s in [0.5, 0.5, 0.5]) == 0  # ties go over together or not at all
    with pytest.raises(GeoBenchError, match="expected harmless scores"):
        threshold([], 0.1)


def test_a_union_is_risk_where_any_member_sees_risk():
    a = [by_score(s, 0.5) for s in (0.9, 0.1, 0.1)]
    b = [by_score(0.1, 0.5), by_score(0.9, 0.5), Decision(None, "yes_is_risk")]
    assert [d.risk for d in unite([a, b])] == [True, True, None]
    assert [d.risk for d in unite([a, [by_score(s, 0.5) for s in (0, 0, 0)]], [0.95, 0.5])] == [False, False, False]
    with pytest.raises(GeoBenchError, match="lists of 3, 1"):
        unite([a, b[:1]])
