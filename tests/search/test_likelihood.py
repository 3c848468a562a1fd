import pytest

from geobench.errors import GeoBenchError
from geobench.search.likelihood import margins, statement_logprobs

MESSAGES = [{"role": "user", "content": "I am looking for a camera. The camera has a bright lens."}]
STATEMENTS = ["The lens is bright.", "A steel body", "x", "The battery of the camera lasts for a long time and a half."]


@pytest.mark.parametrize("kind", ["llama", "qwen2", "mistral"])
def test_shared_prefix_equals_scratch_and_a_plain_loop(tiny_model, kind):
    import torch

    engine = tiny_model(kind)
    shared = statement_logprobs(engine, MESSAGES, STATEMENTS)
    assert shared == pytest.approx(statement_logprobs(engine, MESSAGES, STATEMENTS, shared=False), abs=1e-4)
    prefix = engine.encode_chat(MESSAGES)
    row = engine.tokenizer(STATEMENTS[0], add_special_tokens=False)["input_ids"]
    total = sum(float(engine.last_logits(prefix + row[:n]).log_softmax(-1)[t]) for n, t in enumerate(row))
    assert shared[0] == pytest.approx(total, abs=1e-4) and torch.is_grad_enabled()


def test_margin_is_false_minus_true(tiny_model):
    engine = tiny_model("llama")
    a, b = statement_logprobs(engine, MESSAGES, STATEMENTS[:2])
    assert margins(engine, MESSAGES, [(STATEMENTS[0], STATEMENTS[1])]) == pytest.approx([a - b], abs=1e-4)


def test_faults(tiny_model):
    engine = tiny_model("llama")
    with pytest.raises(GeoBenchError, match="lake clean: a statement is empty"):
        statement_logprobs(engine, MESSAGES, [""], what="lake clean")
    long = [{"role": "user", "content": "camera " * 1100}]
    with pytest.raises(GeoBenchError, match="lake clean.*do not fit the 1024"):
        statement_logprobs(engine, long, ["x"], what="lake clean")
