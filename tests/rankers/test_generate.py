"""Generate read-out: the prompt, the parsing and the windows over jobs."""

import pytest

from geobench.engines.local import Reply
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker

ORDERS = ((0, 1, 2, 3), (3, 2, 1, 0))


class Scripted:
    """Answers every prompt with the same reply and remembers the prompts."""

    batch_size = 2

    def __init__(self, text, finish="stop"):
        self.text, self.finish, self.seen = text, finish, []

    def identity(self):
        return {"model": "scripted"}

    def generate(self, prompts, decoding, seeds=None, names=None, alike=None):
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


LONG = [
    "<think>\n" + "\n".join(f"Thought {n}: Beta Two may come first.\n" for n in range(12)) + "</think>\n",
    "Here is my ranking:\n\n",
    *(f"{n}. {name}\n   - It suits the request.\n   - Its text says why.\n\n" for n, name in
      enumerate(("Gamma Three", "Alpha One", "Delta Four", "Beta Two"), 1)),
]  # fmt: skip


@pytest.mark.parametrize("parts, status", [(LONG[1:], "ok"), (LONG, "repaired")])
def test_a_long_reply_of_a_local_model_is_read_to_its_end(tiny_model, cameras, monkeypatch, parts, status):
    from geobench.engines import generation

    engine = tiny_model("llama")
    script = [*engine.tokenizer("".join(parts), add_special_tokens=False)["input_ids"], engine.tokenizer.eos_token_id]
    monkeypatch.setattr(generation, "choose", lambda logits, decoding, seed, place, margin: (script[place], True))
    monkeypatch.setattr(type(engine), "context", 4096)
    ((_, ranking),) = GenerateRanker("t", engine, tokens=len(script)).rank([Job(cameras, ORDERS[:1])])
    assert ranking.ranks == [[2, 4, 1, 3]] and ranking.status == [status] and ranking.finish == ["stop"]
