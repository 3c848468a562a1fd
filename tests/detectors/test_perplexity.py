"""Perplexity against a plain cross-entropy, and the cut."""

import numpy as np
import pytest
import torch

from geobench.detectors import perplexity


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_it_is_the_exponential_of_the_mean_loss(tiny_model, kind):
    engine = tiny_model(kind)
    texts = ["A bright lens.", "A long battery life and a steel body."]
    for text, row in zip(texts, perplexity.score(engine, texts)):
        ids = torch.tensor([[0, *engine.tokenizer(text, add_special_tokens=False)["input_ids"]]])
        assert row["score"] == pytest.approx(float(engine.model(ids, labels=ids).loss.exp()), rel=1e-4)
        assert (row["tokens"], row["cut"]) == (ids.shape[1] - 1, False)


def test_a_long_text_is_cut_with_a_flag(tiny_model):
    (row,) = perplexity.score(tiny_model("llama"), ["A bright lens. " * 20], limit=10)
    assert (row["tokens"], row["cut"]) == (9, True) and np.isfinite(row["score"])
