"""Orders: disjoint sides, uniform places, stable draws; Kendall's W by hand and by Friedman's test."""

import collections
import itertools
import math

import numpy as np
import pytest

from geobench.errors import GeoBenchError
from geobench.orders import at_end, evaluation_orders, is_odd, kendalls_w, released_orders, search_orders, search_split

PINNED_EVALUATION = [[0, 6, 1, 7, 4, 5, 3, 2], [3, 2, 4, 7, 6, 5, 0, 1]]
PINNED_SEARCH = [[1, 3, 7, 5, 2, 4, 0, 6]]
PINNED_RELEASED = [1, 4, 6, 9, 8, 0, 5, 3, 7, 2]


def inversions(order):
    return sum(a > b for a, b in itertools.combinations(order, 2))


@pytest.mark.parametrize("size", [3, 4, 5, 8, 10])
def test_evaluation_is_even_and_search_is_odd(size):
    even, odd = evaluation_orders("d/l", size, 40, 0), search_orders("d/l", size, 40, 0)
    assert all(sorted(order) == list(range(size)) for order in even + odd)
    assert {inversions(order) % 2 for order in even} == {0}
    assert {inversions(order) % 2 for order in odd} == {1}
    assert not {tuple(o) for o in even} & {tuple(o) for o in odd}


@pytest.mark.parametrize(("size", "supply"), [(3, 3), (4, 12), (5, 60)])
def test_every_order_once_and_then_again(size, supply):
    for draw in (evaluation_orders, search_orders):
        orders = draw("d/l", size, supply + 5, 7)
        assert len({tuple(order) for order in orders[:supply]}) == supply == math.factorial(size) // 2
        assert orders[supply:] == orders[:5]


def test_first_orders_do_not_depend_on_the_count():
    for draw, size in itertools.product((evaluation_orders, search_orders), (3, 4, 8)):
        most = draw("d/l", size, 30, 0)
        assert all(draw("d/l", size, k, 0) == most[:k] for k in (1, 2, 12, 13, 29))
    assert evaluation_orders("d/l", 2, 3, 0) == evaluation_orders("d/l", 2, 9, 0)[:3]


def test_orders_are_the_same_everywhere_and_differ_by_key_and_seed():
    assert evaluation_orders("ragroll/laptop", 8, 2, 0) == PINNED_EVALUATION
    assert search_orders("ragroll/laptop", 8, 1, 0) == PINNED_SEARCH
    draws = [evaluation_orders(key, 10, 3, seed) for key in ("a/x", "a/y", "b/x") for seed in (0, 1)]
    assert len({str(draw) for draw in draws}) == 6


@pytest.mark.parametrize("draw", [evaluation_orders, search_orders])
def test_every_item_is_equally_likely_at_every_place(draw):
    places = collections.Counter(
        (item, place) for key in range(3000) for place, item in enumerate(draw(f"d/{key}", 4, 1, 0)[0])
    )
    assert len(places) == 16
    assert all(abs(count - 750) < 5 * math.sqrt(3000 * 0.25 * 0.75) for count in places.values())


def test_returned_orders_are_separate_lists():
    orders = evaluation_orders("d/l", 3, 6, 0)
    orders[0].reverse()
    assert orders[3] == evaluation_orders("d/l", 3, 6, 0)[3]


def test_two_items_leave_nothing_to_search():
    orders = evaluation_orders("d/pair", 2, 5, 0)
    assert sorted(orders[:2]) == [[0, 1], [1, 0]]
    assert orders[2:] == [orders[0], orders[1], orders[0]]
    with pytest.raises(GeoBenchError, match=r"d/pair.*none is left"):
        search_orders("d/pair", 2, 1, 0)


@pytest.mark.parametrize("size", [0, 1])
def test_too_few_items_are_refused(size):
    for draw in (evaluation_orders, search_orders):
        with pytest.raises(GeoBenchError, match="d/one"):
            draw("d/one", size, 3, 0)
    with pytest.raises(GeoBenchError, match="d/one"):
        released_orders("d/one", 1, size, 3, 0)
    with pytest.raises(GeoBenchError, match="d/l"):
        evaluation_orders("d/l", 8, 0, 0)


def test_released_orders_start_in_file_order_and_differ_by_target():
    orders = released_orders("ragroll/air compressor", 3, 8, 10, 0)
    assert orders[0] == list(range(8))
    assert orders[:4] == released_orders("ragroll/air compressor", 3, 8, 4, 0)
    assert all(sorted(order) == list(range(8)) for order in orders)
    assert orders[1:] != released_orders("ragroll/air compressor", 4, 8, 10, 0)[1:]
    assert orders[1:] != released_orders("ragroll/air compressor", 3, 8, 10, 1)[1:]


def test_released_orders_are_those_of_the_release():
    # The release's seed for this target is crc32(b"stsdata|books|1") % 100003 = 64655 at seed 0.
    assert released_orders("stsdata/books", 1, 10, 2, 0)[1] == PINNED_RELEASED


def test_kendalls_w_by_hand():
    assert kendalls_w([[1, 2, 3], [1, 2, 3], [1, 2, 3]]) == 1
    assert kendalls_w([[1, 2, 3], [3, 2, 1]]) == 0
    # Rank sums 4, 5, 9: S = 4 + 1 + 9 = 14; W = 12 * 14 / (9 * 24).
    assert kendalls_w([[1, 2, 3], [1, 2, 3], [2, 1, 3]]) == pytest.approx(12 * 14 / 216)


def test_kendalls_w_with_ties_by_hand():
    # Ranks 1.5 1.5 3 and 1 2 3: sums 2.5 3.5 6, mean 4, S = 6.5; T = 6 once; W = 78 / (4 * 24 - 2 * 6).
    assert kendalls_w([[1, 1, 4], [1, 2, 3]]) == pytest.approx(78 / 84)
    assert kendalls_w([[1, 1, 2], [1, 1, 2], [5, 5, 9]]) == pytest.approx(1)
    assert math.isnan(kendalls_w([[1, 1, 1], [2, 2, 2]]))


def test_kendalls_w_without_ties_is_friedmans_statistic():
    from scipy.stats import friedmanchisquare

    ranks = np.array(evaluation_orders("d/l", 6, 9, 3))
    assert kendalls_w(ranks) == pytest.approx(friedmanchisquare(*ranks.T).statistic / (9 * 5))


@pytest.mark.parametrize("ranks", [[[1, 2, 3]], [[1], [1]], [1, 2], [[1, float("nan")], [1, 2]]])
def test_kendalls_w_refuses_what_is_no_table_of_ranks(ranks):
    with pytest.raises(GeoBenchError, match="Kendall"):
        kendalls_w(ranks)


def test_orders_to_optimise_on_and_to_choose_by_are_search_orders_apart():
    held, rest = search_split("d/l", 5, 2, 30, 7)
    drawn = [tuple(order) for order in search_orders("d/l", 5, 32, 7)]
    assert held == drawn[:2] and rest == [o for o in dict.fromkeys(drawn) if o not in held] and len(rest) == 30
    assert all(is_odd(order) for order in held + rest) and not is_odd([0, 1, 2]) and is_odd([1, 0, 2])
    assert len(search_split("d/l", 3, 2, 8, 0)[1]) == 1
    with pytest.raises(GeoBenchError, match="list `d/l` of 3 items: test_orders=3 holds all of its search orders out"):
        search_split("d/l", 3, 3, 8, 0)


def test_an_order_that_shows_an_item_last_stays_odd():
    for item in range(4):
        for order in [(1, 0, 2, 3), (3, 1, 2, 0), (0, 1, 3, 2), (2, 3, 1, 0)]:
            shown = at_end(order, item)
            assert shown[-1] == item and is_odd(shown) and sorted(shown) == [0, 1, 2, 3]
    assert at_end((1, 2, 0), 0) == (2, 1, 0) and at_end((1, 0, 2), 2) == (1, 0, 2)
    held, rest = search_split("d/l", 5, 2, 6, 7, last=3)
    assert len(rest) <= 6 and all(order[-1] == 3 and is_odd(order) and order not in held for order in rest)
    with pytest.raises(GeoBenchError, match="holds all of its search orders out that show item 1 last"):
        search_split("d/l", 3, 3, 8, 0, last=0)
