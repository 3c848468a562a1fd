"""TAP on scripted replies and ranks."""

from scripted import LAMPS, Lengthy, Writer

from geobench.attacks import tap
from geobench.orders import evaluation_orders, search_orders
from geobench.params import load


def test_tap_keeps_the_best_node_and_searches_disjoint_orders():
    ranker, settings = Lengthy(20), load("smoke", {"tap_roots": 2, "tap_branching": 2, "tap_width": 1, "tap_depth": 2})
    writer = Writer("one", "one two", "one two three")
    ((_, edit),) = tap.run([LAMPS], writer, ranker, settings)
    assert [n["depth"] for n in edit["trace"]] == [0, 0, 1, 1, 2, 2]
    assert edit["suffix"] == "one two three" and edit["search_mean_rank"] == min(n["mean_rank"] for n in edit["trace"]) == 12
    assert "Snippet tried so far: one two" in writer.asked[2][-1]["content"] and len(set(writer.seeds)) == 6
    evaluated = {tuple(o) for o in evaluation_orders(LAMPS.list.key, 5, 10, 0)}
    assert ranker.orders == {tuple(o) for o in search_orders(LAMPS.list.key, 5, 2, 0)} and not ranker.orders & evaluated


def test_tap_stops_at_mean_rank_one():
    ((_, edit),) = tap.run([LAMPS], Writer("a b c"), Lengthy(3), load("smoke", {"tap_depth": 5}))
    assert {n["depth"] for n in edit["trace"]} == {0} and edit["search_mean_rank"] == 1
