"""A tiny cross-encoder: raw logits that do not depend on the other passages."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from geobench.engines.encoders import Encoder, _positions
from geobench.errors import GeoBenchError
from geobench.models import ModelSpec

PASSAGES = ["A bright lens.", "A long battery life and a steel body.", "Quiet."]


def test_relevance_is_the_models_logit(tiny_model):
    encoder = tiny_model("cross_encoder")
    got = encoder.relevance("a camera", PASSAGES)
    for passage, score in zip(PASSAGES, got):
        inputs = encoder.model.tokenizer("a camera", passage, return_tensors="pt")
        with torch.inference_mode():
            want = encoder.model.model(**{k: v for k, v in inputs.items() if k != "token_type_ids"}).logits[0, 0]
        assert score == pytest.approx(float(want), abs=1e-4)
    assert len(set(got)) == 3


def test_a_score_does_not_depend_on_its_neighbours(tiny_model):
    encoder = tiny_model("cross_encoder")
    together = encoder.relevance("a camera", PASSAGES)
    assert np.array_equal(together, [encoder.relevance("a camera", [p])[0] for p in PASSAGES])


def test_a_folder_without_weights_is_named(tmp_path):
    with pytest.raises(GeoBenchError, match="no config.json"):
        Encoder(ModelSpec("mine", f"path:{tmp_path}", kind="cross_encoder"))


@pytest.mark.parametrize("kind, pad, want", [("bert", 0, 514), ("roberta", 1, 512), ("xlm-roberta", 1, 512), ("roberta", None, 513)])
def test_positions_of_roberta_begin_after_the_padding_tokens(kind, pad, want):
    config = SimpleNamespace(model_type=kind, pad_token_id=pad, max_position_embeddings=514)
    assert _positions(SimpleNamespace(config=config)) == want


def test_a_model_that_does_not_say_has_no_bound():
    assert _positions(SimpleNamespace(config=SimpleNamespace(model_type="t5", pad_token_id=0))) == 10**9
