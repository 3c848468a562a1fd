"""Generate read-out: the prompt, the parsing and the windows over jobs."""

import pytest

from geobench.engines.local import Reply
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker, enough

ORDERS = ((0, 1, 2, 3), (3, 2, 1, 0))


class Scripted:
    """Answers every prompt with the same reply and remembers the prompts."""

    batch_size = 2

    def __init__(self, text, finish="stop"):
        self.text, self.finish, self.seen = text, finish, []

    def identity(self):
        return {"model": "scripted"}

    def generate(self, prompts, decoding, seeds=None, names=None, stop=None, alike=None):
        self.seen.append((prompts, names))
        return [Reply(self.text, self.finish, 1, 1) for _ in prompts]


def test_ranks_follow_the_reply(cameras):
    engine = Scripted("1. Gamma Three\n2. Alpha One\n3. Delta Four\n4. Beta Two")
    jobs = [Job(cameras, ORDERS), Job(cameras, ORDERS, 2, "New  text.", "edited"), Job(cameras, ORDERS[:1])]
    out = list(GenerateRanker("s:generate", engine).rank(jobs))
    assert [job for job, _ in out] == jobs
    assert [len(r.ranks) for _, r in out] == [2, 2, 1]
    assert all(ranks == [2, 4, 1, 3] for _, r in out for ranks in r.ranks)
    assert out[0][1].status == ["ok", "ok"] and out[0][1].replies[0].startswith("1. Gamma")
    assert [len(p) for p, _ in engine.seen] == [4, 1]
    assert "item 2 (Beta Two), edited" in engine.seen[0][1][2]


def test_the_prompt_shows_the_edited_text_in_the_order(cameras):
    user = GenerateRanker("s", Scripted("")).messages(Job(cameras, ORDERS, 4, "New\n text."), ORDERS[1])[1]["content"]
    assert "1. Delta Four: New text.\n2. Gamma Three: Quiet.\n" in user
    assert "I am looking for a camera. Rank all 4 entries" in user


@pytest.mark.parametrize("text, finish, status", [("", "stop", "empty"), ("1. Gamma Three\n2. Alpha One", "length", "cut_off")])
def test_missing_items_are_last(cameras, text, finish, status):
    (_, ranking), = GenerateRanker("s", Scripted(text, finish)).rank([Job(cameras, ORDERS[:1])])
    assert ranking.status == [status] and ranking.ranks[0][1] == 5


def test_a_tiny_model_runs_through(tiny_model, cameras):
    (_, ranking), = GenerateRanker("t", tiny_model("llama"), tokens=8).rank([Job(cameras, ORDERS)])
    assert len(ranking.replies) == 2 and len(ranking.ranks[0]) == 4


def test_enough_lines():
    assert not enough("a\nb\n", 2) and enough("a\n\nb\nc\nd\ne\n", 2) and not enough("a\nb\nc\nd\ne", 2)
