"""A search run on a tiny model and an encoder that counts letters: the whole pipeline in a second."""

import numpy as np
import pytest


class Letters:
    """An encoder whose unit vectors count letters: exact, instant, and it remembers what it embedded."""

    def __init__(self, tokenizer):
        self.model = type("Model", (), {"tokenizer": tokenizer, "max_seq_length": 128})
        self.spec = type("Spec", (), {"kind": "bi_encoder"})
        self.seen = []

    def identity(self):
        return {"model": "letters"}

    def embed(self, texts):
        self.seen += texts
        counts = np.array([[t.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for t in texts], dtype=float) + 1e-9
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


@pytest.fixture
def letters(tiny_model):
    return Letters(tiny_model("llama").tokenizer)


@pytest.fixture
def search(tmp_path, monkeypatch, tiny_model, letters):
    """A run of two embedded instances."""
    from geobench import models
    from geobench.params import load
    from geobench.run import Run
    from geobench.search.pipeline import SearchRun

    monkeypatch.setattr(models, "_open", {"minilm": letters, "smollm2-135m": tiny_model("llama")})
    values = {
        "search_instances": 2, "search_chunk_tokens": 40, "search_chunk_overlap": 10, "search_top": 2, "search_answer_tokens": 8,
        "search_rewrite_tokens": 16, "search_judge_answers": 3,
    }  # fmt: skip
    made = SearchRun(Run(tmp_path / "run", load("smoke", values)))
    made.choose()
    return made


class Quarters:
    """A tokenizer of four characters a token, as the dry run estimates them."""

    chat_template = None

    def __call__(self, text, return_offsets_mapping=False, **_):
        if isinstance(text, str):
            spans = [(n, min(n + 4, len(text))) for n in range(0, len(text), 4)]
            coded = {"input_ids": [sum(map(ord, text[a:b])) for a, b in spans]}
            return coded | ({"offset_mapping": spans} if return_offsets_mapping else {})
        return {"input_ids": [self(one)["input_ids"] for one in text]}


class Counting:
    """An engine without a model that notes what it is asked: `asked` holds (kind, characters, most tokens out) of every prompt."""

    batch_size, context, tokenizer = 8, 10**9, Quarters()

    def __init__(self, answer=lambda prompt, seed: "The board says so [1]."):
        self.answer, self.asked = answer, []
        self.spec = type("Spec", (), {"name": "counting", "kind": "causal_lm"})

    def identity(self):
        return {"model": "counting"}

    def shared_prefix(self, render):
        return 0

    def note(self, kind, prompt, most=0):
        self.asked.append((kind, len(prompt) if isinstance(prompt, str) else sum(len(m["content"]) for m in prompt), most))

    def generate(self, prompts, decoding, seeds=None, names=None, **_):
        from geobench.engines.reply import Reply

        for prompt in prompts:
            self.note("generate", prompt, decoding.max_new_tokens)
        return [Reply(self.answer(p, s), "stop", 1, 1) for p, s in zip(prompts, seeds or [0] * len(prompts))]

    def next_token_logprobs(self, prompts, tokens, shared=0, names=None):
        for prompt in prompts:
            self.note("odds", prompt)
            yield np.zeros(len(tokens), dtype=np.float32)

    def sequence_logprobs(self, texts, limit=None):
        for text in texts:
            self.note("read", text[: 4 * limit])
            yield np.full(3, -1.0), False

    def sums(self, kind=None):
        """(calls, estimated tokens in, most tokens out) of what was asked since the last time."""
        rows, self.asked = [r for r in self.asked if kind in (None, r[0])], [r for r in self.asked if kind not in (None, r[0])]
        return len(rows), sum(size for _, size, _ in rows) / 4, sum(most for *_, most in rows)


@pytest.fixture
def counting(search, letters, monkeypatch):
    """`counting(**values)`: the run of two instances under other values, its language model and its encoder counting what they read."""
    from geobench import models
    from geobench.search import likelihood

    def statements(engine, messages, said, shared=True, what="prompt"):
        engine.note("weighed", "".join(m["content"] for m in messages) + "".join(said))
        return [0.0] * len(said)

    monkeypatch.setattr(likelihood, "statement_logprobs", statements)
    letters.model.tokenizer = Quarters()
    engine = Counting()
    monkeypatch.setitem(models._open, "smollm2-135m", engine)

    def make(**values):
        search.work.params = search.p = search.p.model_copy(update=values)
        search.choose()
        return search, engine

    return make
