"""Sliding windows by hand: an engine that sorts what it is shown by a known worth."""

import re
from dataclasses import replace

import pytest

from geobench.engines.local import Reply
from geobench.errors import GeoBenchError
from geobench.lists import make_list
from geobench.params import load
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker
from geobench.rankers.windows import Walk, WindowRanker, spans

SEVEN = make_list("tests", "letters", "letter", [(f"Item {c}", f"worth {n}.") for c, n in zip("ABCDEFG", (3, 7, 1, 6, 2, 5, 4))])
BY_WORTH = [5, 1, 7, 2, 6, 3, 4]  # rank of A to G: 7 is the best


class Sorter:
    """Names the shown items from the worthiest to the least; `leaves_out` are never named."""

    batch_size = 4

    def __init__(self, leaves_out=()):
        self.leaves_out, self.shown, self.names = leaves_out, [], []

    def identity(self):
        return {"model": "sorter"}

    def generate(self, prompts, decoding, seeds=None, names=None, alike=None):
        self.names += names
        return [Reply(self._reply(p[1]["content"]), "stop", 1, 1) for p in prompts]

    def _reply(self, prompt):
        found = re.findall(r"(Item \w).*?worth (\d+)", prompt)
        self.shown.append("".join(name[-1] for name, _ in found))
        kept = [name for name, worth in sorted(found, key=lambda f: -int(f[1])) if name not in self.leaves_out]
        return "\n".join(f"{n}. {name}" for n, name in enumerate(kept, 1))


def test_spans_reach_the_head():
    assert spans(7, 4, 2) == [(3, 7), (1, 5), (0, 3)]
    assert spans(7, 4) == spans(7, 4, 2) and spans(100, 20, 10)[0] == (80, 100) and spans(100, 20, 10)[-1] == (0, 20)
    assert spans(25, 20, 10) == [(5, 25), (0, 15)] and spans(4, 20, 10) == [(0, 4)] and spans(5, 2, 1)[-1] == (0, 2)


def test_windows_slide_from_the_end_and_carry_the_best_along():
    engine = Sorter()
    ((_, ranking),) = WindowRanker("s:generate", engine, window=4, stride=2).rank([Job(SEVEN, (tuple(range(7)),))])
    # D(6) E(2) F(5) G(4) -> D F G E; then B C D F -> B D F C; then A B D -> B D A
    assert engine.shown == ["DEFG", "BCDF", "ABD"]
    # the order is now B D A | F C | G E
    assert ranking.ranks == [[3, 1, 5, 2, 7, 4, 6]] and ranking.status == ["ok"]
    assert len(ranking.replies[0]) == 3 and ranking.replies[0][0] == "1. Item D\n2. Item F\n3. Item G\n4. Item E"
    assert engine.names == [f"tests/letters, window {n}" for n in (1, 2, 3)]


def test_the_target_climbs_as_far_as_its_text_says_under_the_same_orders():
    orders, engine = (tuple(range(7)), tuple(reversed(range(7)))), Sorter()
    jobs = [Job(SEVEN, orders), Job(SEVEN, orders, 5, "worth 9.", "edited")]
    (_, clean), (_, edited) = WindowRanker("s:generate", engine, window=4, stride=2).rank(jobs)
    assert [ranks[4] for ranks in clean.ranks] == [7, 5] and [ranks[4] for ranks in edited.ranks] == [1, 1]
    # the other order, G F E D C B A: D C B A -> B D A C; F E B D -> B D F E; G B D -> B D G: B D G | F E | A C
    assert engine.names[2] == "tests/letters item 5 (Item E), edited, window 1"


def test_a_list_no_longer_than_the_window_is_ranked_as_without_windows():
    orders = (tuple(range(7)), (3, 1, 0, 2, 6, 5, 4))
    for engine in (Sorter(), Sorter(leaves_out=("Item B",))):
        ((_, plain),) = GenerateRanker("s", engine).rank([Job(SEVEN, orders)])
        ((_, window),) = WindowRanker("s", engine, window=7).rank([Job(SEVEN, orders)])
        assert window.ranks == plain.ranks and window.status == plain.status and [r[0] for r in window.replies] == plain.replies
    assert plain.ranks[0][1] == 8
    assert WindowRanker("s", Sorter(), window=100).identity() == GenerateRanker("s", Sorter()).identity() | {"window": 100, "stride": 50}


def test_an_item_that_its_last_window_does_not_name_is_missing():
    ((_, ranking),) = WindowRanker("s", Sorter(leaves_out=("Item G",)), window=4, stride=2).rank([Job(SEVEN, (tuple(range(7)),))])
    assert ranking.ranks == [[3, 1, 5, 2, 6, 4, 8]] and ranking.status == ["missing"]
    assert sorted(ranking.ranks[0]) == [1, 2, 3, 4, 5, 6, 8]


def test_windows_that_are_too_long_are_named(tiny_model, cameras):
    ranker = WindowRanker("t", tiny_model("llama"), tokens=20, window=2)
    ranker.fit(Job(cameras, ((0, 1, 2, 3),)))
    with pytest.raises(GeoBenchError, match=r"tests/cameras item 2 \(Beta Two\), tap: \d{4} tokens and 20 to generate do not fit the 1024"):
        ranker.fit(Job(cameras, ((0, 1, 2, 3),), 2, "far too long " * 400, "tap"))


def test_a_tiny_model_slides(tiny_model, cameras):
    ((_, ranking),) = WindowRanker("t", tiny_model("llama"), tokens=8, window=2).rank([Job(cameras, ((0, 1, 2, 3), (3, 2, 1, 0)))])
    assert [len(r) for r in ranking.replies] == [3, 3] and all(1 <= rank <= 5 for ranks in ranking.ranks for rank in ranks)


@pytest.mark.parametrize("values", [{"generate_stride": 4}, {"generate_window": 4, "generate_stride": 4}])
def test_a_stride_is_less_than_its_window(values):
    with pytest.raises(GeoBenchError, match="generate_stride: expected less than generate_window, got 4"):
        load("smoke", values)


def test_what_meets_in_a_window_is_measured_in_tokens(tiny_model):
    """Four short texts of many tokens fit less than four long ones of few."""
    engine = tiny_model("llama")
    texts = ["a camera " * 15] * 4 + ["\U0001f600" * 60] * 4
    lst = make_list("t", "l", "camera", [(f"N{i}", text) for i, text in enumerate(texts)])
    ranker, job = WindowRanker("m:generate", engine, tokens=16, window=4), Job(lst, ((4, 5, 6, 7, 0, 1, 2, 3),))
    with pytest.raises(GeoBenchError, match="do not fit the"):
        list(ranker.rank([job]))
    with pytest.raises(GeoBenchError, match="do not fit the"):
        ranker.fit(job)


def test_a_window_takes_the_named_first_and_its_last_word_says_what_is_missing():
    walk, reply = Walk(0, list(range(6))), Reply("x", "stop", 1, 1)
    walk.take(2, 5, [2, 0], reply, "missing")  # shows 2 3 4, names 4 and 2
    assert (walk.order, walk.missing) == ([0, 1, 4, 2, 3, 5], {3})
    walk.take(0, 3, [1], reply, "missing")  # shows 0 1 4, names 1
    assert (walk.order, walk.missing) == ([1, 0, 4, 2, 3, 5], {3, 0, 4})
    walk.take(1, 4, [1, 0], reply, "missing")  # shows 0 4 2, names 4 and 0, which are missing no more
    assert (walk.order, walk.missing) == ([1, 4, 0, 2, 3, 5], {2, 3})
    assert walk.ranks() == [3, 1, 7, 7, 2, 4]


@pytest.mark.parametrize("finish, said", [
    (["stop", "length", "stop"], "length"), (["length", "filtered", "stop"], "filtered"), (["stop", "stop", "stop"], "stop"),
])  # fmt: skip
def test_a_ranking_ends_as_the_worst_of_its_windows(finish, said):
    engine = Sorter()
    endings = iter(finish)
    plain = engine.generate
    engine.generate = lambda *a, **k: [replace(r, finish=next(endings)) for r in plain(*a, **k)]
    ((_, ranking),) = WindowRanker("s:generate", engine, window=4, stride=2).rank([Job(SEVEN, (tuple(range(7)),))])
    assert ranking.finish == [said]
