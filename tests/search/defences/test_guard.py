import json

import numpy as np
import pytest

from geobench.errors import GeoBenchError
from geobench.search.defences import guard
from geobench.search.defences.pool import parts


def test_prototypes_by_hand():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    made = guard.prototypes(vectors, [("a",), ("a", "b"), ("b",)])
    assert np.allclose(made["a"], [2**-0.5, 2**-0.5]) and np.allclose(made["b"], [2**-0.5, 2**-0.5])
    made = guard.prototypes(vectors, [("a",), ("b",), ("a",)])
    assert np.allclose(made["a"], [1, 0]) and np.allclose(made["b"], [0, 1])
    with pytest.raises(GeoBenchError, match="two categories or more, got a"):
        guard.prototypes(vectors, [("a",)] * 3)


@pytest.fixture
def small(triples, tiny_encoder):
    model = tiny_encoder()
    rows = parts(triples, model.tokenizer, 64, 8)
    return guard.Guard(model, guard.fit(model, rows, set()), 0.5, {"chunk_tokens": 8, "chunk_overlap": 2})


def test_the_score_is_the_largest_cosine(small):
    text = "The aloe needs water every 2 days."
    vector = small.model.encode([text], normalize_embeddings=True)[0]
    cosines = {k: float(v @ vector) for k, v in small.prototypes.items()}
    (score,), (label,) = small.scores([text])
    assert score == pytest.approx(max(cosines.values()), abs=1e-6) and cosines[label] == max(cosines.values())
    assert small.scores([])[1] == [] and small.decide([]) == []
    assert small.decide([text])[0].blocked() == (score >= 0.5) and small.decide([text])[0].polarity == "high_is_risk"


def test_batches_equal_one_at_a_time(small):
    texts = ["The aloe needs water.", "basil", "The fern needs water every 2 days, says the board.", "basil"]
    alone = np.array([small.scores([t])[0][0] for t in texts])
    assert np.abs(small.scores(texts)[0] - alone).max() < 1e-5


def test_a_saved_guard_decides_the_same(small, tmp_path):
    small.save(tmp_path / "g")
    again = guard.load_guard(tmp_path / "g")
    text = "The aloe needs water every 2 days, says the board, and the fern every 9 days."
    assert again.check(text) == small.check(text) and len(again.check(text)) > 1
    assert "at 0.5000 or more" in (tmp_path / "g/README.md").read_text() and again.identity() == small.identity()
    small.save(tmp_path / "h")
    assert (tmp_path / "g/model.safetensors").read_bytes() == (tmp_path / "h/model.safetensors").read_bytes()


def test_missing_and_damaged_guards_are_named(small, tmp_path):
    with pytest.raises(GeoBenchError, match="no guard.json; train one with"):
        guard.load_guard(tmp_path)
    small.save(tmp_path)
    (tmp_path / "guard.json").write_text(json.dumps({"tau": "high"}))
    with pytest.raises(GeoBenchError, match="guard.json is damaged"):
        guard.load_guard(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(GeoBenchError, match="no model.safetensors"):
        guard.load_guard(tmp_path)


def test_a_remembered_encoder_embeds_a_text_once():
    class Counting:
        tokenizer, seen = None, []

        def encode(self, texts, **_):
            self.seen += texts
            return np.ones((len(texts), 2))

    kept = guard.Remembered(Counting())
    guard.batch_embed(kept, ["a", "b", "a"])
    assert guard.batch_embed(kept, ["b", "c"]).shape == (2, 2) and Counting.seen == ["a", "b", "c"]
