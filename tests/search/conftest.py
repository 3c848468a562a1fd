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
