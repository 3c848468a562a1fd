"""Decoding a group: both ways give one text, finished rows leave, near ties are settled alone."""

from types import SimpleNamespace

import pytest
import torch

from geobench.engines import generation
from geobench.engines.decoding import Decoding
from geobench.engines.generation import Chooser, grouped, transformers_generate

KINDS = ["llama", "qwen2", "mistral"]
ROWS = [[0, *range(10, 10 + n)] for n in (3, 40, 12, 7, 25)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("decoding", [Decoding(14, 1.0, 0.9), Decoding(14)], ids=["sampled", "greedy"])
def test_own_cache_and_transformers_write_the_same(tiny_model, kind, decoding):
    engine, texts = tiny_model(kind), []
    for decode in (grouped, transformers_generate):
        chooser = Chooser(engine, ROWS, decoding, list(range(len(ROWS))))
        decode(engine, ROWS, chooser)
        texts.append((chooser.written, chooser.finish))
    assert texts[0] == texts[1]
    assert all(len(w) == 14 or f == "stop" for w, f in zip(*texts[0]))


@pytest.mark.parametrize("told", [0, 1, 4], ids=["one row's drafts are right", "the longest row's", "another's"])
def test_drafts_change_no_text_however_far_rows_run_apart(tiny_model, monkeypatch, told):
    """Row `told` is given its own text as drafts and is done long before the others, the rest is given wrong ones."""
    engine = tiny_model("llama")
    plain = Chooser(engine, ROWS, Decoding(14), [0] * 5)
    transformers_generate(engine, ROWS, plain)
    sizes, real = [], generation.Cache.extend

    def guess(self, written, room):
        n = next(n for n, row in enumerate(ROWS) if self.text[: len(row)] == row and self._known == len(row))
        return plain.written[n][len(written) : len(written) + min(room, 9)] if n == told else [33, 34][:room]

    monkeypatch.setattr(generation.Draft, "guess", guess)
    monkeypatch.setattr(generation.Cache, "extend", lambda self, tokens: sizes.append(list(map(len, tokens))) or real(self, tokens))
    chooser = Chooser(engine, ROWS, Decoding(14), [0] * 5)
    grouped(engine, ROWS, chooser)
    assert (chooser.written, chooser.finish) == (plain.written, plain.finish)
    assert sizes[0][told] == 10 and len(sizes) <= 13


def test_rows_that_end_early_leave_the_rest_alone(tiny_model):
    engine = tiny_model("llama")
    free = Chooser(engine, ROWS, Decoding(9), [0] * 5)
    grouped(engine, ROWS, free)
    short = Chooser(engine, ROWS, Decoding(9), [0] * 5)
    real = short.take
    short.take = lambda n, *given: real(n, *given) if n in (2, 4) or not short.written[n] else short.finish.__setitem__(n, "stop")
    grouped(engine, ROWS, short)
    assert all(len(short.written[n]) == 1 for n in (0, 1, 3))
    assert short.written[2] == free.written[2] and short.written[4] == free.written[4]


def test_a_near_tie_is_settled_by_the_lone_forward_and_a_clear_choice_is_not():
    """Batched logits that favour token 3 by rounding must give way to the lone forward's token 4."""
    asked = []

    class Engine:
        dtype = torch.float32
        tokenizer = SimpleNamespace(eos_token_id=0)
        model = SimpleNamespace(generation_config=SimpleNamespace(eos_token_id=[0]))

        def last_logits(self, ids):
            asked.append(ids)
            return torch.tensor([0.0, 0.0, 0.0, 5.0, 5.00001])

    chooser = Chooser(Engine(), [[7, 8]], Decoding(4), [0])
    chooser.written[0].append(9)
    assert chooser.take(0, torch.tensor([0.0, 0.0, 0.0, 5.00001, 5.0])) == 4 and asked == [[7, 8, 9]]
    assert chooser.take(0, torch.tensor([0.0, 0.0, 0.0, 6.0, 5.0])) == 3 and len(asked) == 1
    assert chooser.written == [[9, 4, 3]]


def test_close_choices_after_a_shared_beginning_do_not_depend_on_it(tiny_model, monkeypatch):
    """Every choice counts as close; rows with a key must not be settled on keys and values that another row's pass has made."""
    engine = tiny_model("llama")
    monkeypatch.setitem(generation.MARGIN, torch.float32, 1e9)
    free = Chooser(engine, ROWS, Decoding(5), [0] * 5)
    grouped(engine, ROWS, free)
    asked, real = [], engine.last_logits
    monkeypatch.setattr(generation.Cache, "alone", None)
    monkeypatch.setattr(engine, "last_logits", lambda ids: asked.append(ids) or real(ids))
    keyed = Chooser(engine, ROWS, Decoding(5), [0] * 5, keys=["list"] * 5)
    grouped(engine, ROWS, keyed)
    assert keyed.written == free.written and [*ROWS[1], *free.written[1][:2]] in asked
