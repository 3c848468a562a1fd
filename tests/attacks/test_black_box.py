"""Zero-Shot, TAP, and the rewrites on scripted replies."""

import pytest

from geobench.attacks import NAMES, rewrites, tap, zero_shot
from geobench.attacks.base import Task, snippet
from geobench.engines.local import Reply
from geobench.lists import make_list
from geobench.orders import evaluation_orders, search_orders
from geobench.params import load
from geobench.rankers.base import Ranking


@pytest.fixture
def task():
    return Task(make_list("d", "lamp", "lamp", [(f"Lamp {c}", f"A lamp of kind {c}.") for c in "ABCDE"]), 3)


class Writer:
    """Answers call n with `words[n % len(words)]` and keeps what it was asked."""

    batch_size = 2

    def __init__(self, *words):
        self.words, self.asked, self.seeds = words, [], []

    def generate(self, prompts, decoding, seeds=None, names=None):
        start = len(self.asked)
        self.asked += prompts
        self.seeds += seeds
        return [Reply(self.words[(start + n) % len(self.words)], "stop", 1, 1) for n in range(len(prompts))]


class Lengthy:
    """Ranks the target by the length of its text: the longer, the better; notes the orders it was asked under."""

    def __init__(self, best):
        self.best, self.orders = best, set()

    def rank(self, jobs):
        for job in jobs:
            self.orders |= set(job.orders)
            place = max(1, self.best - len(job.text.split()))
            yield job, Ranking([[place] * len(job.list)] * len(job.orders))


def test_zero_shot_strips_fences_and_quotes(task):
    writer = Writer('```\n"Bright and\nquiet."\n```')
    ((_, edit),) = zero_shot.run([task], writer, load("smoke"))
    assert edit["suffix"] == "Bright and quiet." and edit["text"] == "A lamp of kind C. Bright and quiet."
    assert "Lamp C" in writer.asked[0][-1]["content"]
    assert snippet("") == ""


def test_tap_keeps_the_best_node_and_searches_disjoint_orders(task):
    ranker, settings = Lengthy(20), load("smoke", {"tap_roots": 2, "tap_branching": 2, "tap_width": 1, "tap_depth": 3})
    writer = Writer("one", "one two", "one two three")
    ((_, edit),) = tap.run([task], writer, ranker, settings)
    assert [n["depth"] for n in edit["trace"]] == [1, 1, 2, 2, 3, 3]
    assert edit["suffix"] == "one two three" and edit["search_mean_rank"] == min(n["mean_rank"] for n in edit["trace"]) == 12
    assert "Snippet tried so far: one two" in writer.asked[2][-1]["content"] and len(set(writer.seeds)) == 6
    evaluated = {tuple(o) for o in evaluation_orders(task.list.key, 5, 10, 0)}
    assert ranker.orders == {tuple(o) for o in search_orders(task.list.key, 5, 2, 0)} and not ranker.orders & evaluated


def test_tap_stops_at_mean_rank_one(task):
    ((_, edit),) = tap.run([task], Writer("a b c"), Lengthy(3), load("smoke", {"tap_depth": 5}))
    assert {n["depth"] for n in edit["trace"]} == {1} and edit["search_mean_rank"] == 1


@pytest.mark.parametrize("method", NAMES)
def test_rewrites_replace_the_description(task, method):
    ((_, edit),) = rewrites.run([(method, task)], Writer("Notes. OUTPUT: A new text."), load("smoke"))
    want = {"statistics": "A new text.", "llm_guidance": "Notes. OUTPUT: A new text.\n\nA lamp of kind C."}
    assert edit["mode"] == "rewrite" and edit["text"] == want.get(method, "Notes. OUTPUT: A new text.")


def test_an_empty_rewrite_leaves_the_description(task):
    ((_, edit),) = rewrites.run([("fluency", task)], Writer("  "), load("smoke"))
    assert edit["text"] == "A lamp of kind C."
