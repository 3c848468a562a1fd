"""The local engine on tiny models: batch invariance, BOS, context, scores and memory."""

import numpy as np
import pytest
import torch

from geobench.engines.beginnings import Beginnings
from geobench.engines.decoding import Decoding
from geobench.errors import GeoBenchError
from geobench.kernels import decoder

KINDS = ["llama", "qwen2", "mistral"]


def chat(text: str) -> list[dict]:
    return [{"role": "system", "content": "You rank."}, {"role": "user", "content": text}]


PROMPTS = [chat("camera " * n + "please") for n in (1, 9, 3, 17, 2, 5, 30, 4)]


@pytest.fixture
def engine(tiny_model, monkeypatch):
    model = tiny_model("llama")
    monkeypatch.setattr(model, "batch_size", 8, raising=False)
    return model


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("decoding", [Decoding(12, 1.0, 0.95), Decoding(12)], ids=["sampled", "greedy"])
def test_text_does_not_depend_on_the_batch(tiny_model, monkeypatch, kind, decoding):
    model, texts = tiny_model(kind), []
    for size in (1, 3, 8):
        monkeypatch.setattr(model, "batch_size", size, raising=False)
        replies = model.generate(PROMPTS, decoding, seeds=list(range(8)))
        texts.append([(r.text, r.finish, r.tokens_out) for r in replies])
    assert texts[0] == texts[1] == texts[2]
    assert len({t for t, _, _ in texts[0]}) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_prompts_that_begin_alike_share_the_work_and_write_the_same(tiny_model, monkeypatch, kind):
    model = tiny_model(kind)
    head = "The camera has a bright lens and a long battery life. " * 4
    prompts = [chat(head + tail) for tail in ("Alpha, Beta.", "Beta, Alpha.", "Gamma", "Alpha, Gamma.")] + [chat("Beta")]
    lengths, done = [len(model.encode_chat(p)) for p in prompts], []
    texts = []
    for size, alike in ((8, None), (8, [1, 1, 1, 1, 2]), (2, [1, 1, 1, 1, 2]), (1, [2, 2, 2, 2, None])):
        monkeypatch.setattr(model, "batch_size", size, raising=False)
        monkeypatch.setattr(model, "beginnings", Beginnings())
        start = decoder.WORK["forward"]
        texts.append([r.text for r in model.generate(prompts, Decoding(1), alike=alike)])
        done.append(decoder.WORK["forward"] - start)
    assert texts[0] == texts[1] == texts[2] == texts[3]
    shared = len(model.encode_chat(chat(head)))  # more than the three later prompts share
    assert done[0] == sum(lengths) and done[1] == done[2] == done[3] < sum(lengths) - 3 * 0.7 * shared


def test_greedy_equals_step_by_step_argmax(engine):
    ids = engine.encode_chat(PROMPTS[1])
    written = []
    for _ in range(8):
        written.append(int(engine.last_logits([*ids, *written]).argmax()))
    reply = engine.generate([PROMPTS[1]], Decoding(8))[0]
    if engine.tokenizer.eos_token_id in written:
        written = written[: written.index(engine.tokenizer.eos_token_id)]
    assert reply.text == engine.tokenizer.decode(written, skip_special_tokens=True).strip()
    assert (reply.tokens_in, reply.tokens_out) == (len(ids), len(written))


def test_exactly_one_bos(engine, monkeypatch):
    bos, template = engine.tokenizer.bos_token_id, engine.tokenizer.chat_template
    with_bos = engine.encode_chat(PROMPTS[0])
    monkeypatch.setattr(engine.tokenizer, "chat_template", template.replace("{{ bos_token }}", ""))
    without = engine.encode_chat(PROMPTS[0])
    assert with_bos == without and with_bos.count(bos) == 1 and with_bos[0] == bos
    monkeypatch.setattr(engine.tokenizer, "chat_template", "{{ bos_token }}" + template)
    with pytest.raises(GeoBenchError, match="two BOS"):
        engine.encode_chat(PROMPTS[0])


def test_offsets_name_the_characters(engine):
    text = "A bright lens."
    ids, spans = engine.encode(text, offsets=True)
    assert len(ids) == len(spans) and spans[0] == (0, 0)
    assert "".join(text[a:b] for a, b in spans) == text


def test_too_long_a_prompt_names_its_item(engine):
    with pytest.raises(GeoBenchError, match=r"tests/cameras item 2.*1024"):
        engine.generate([chat("x" * 4000)], Decoding(4), names=["tests/cameras item 2"])
    with pytest.raises(GeoBenchError, match="to generate"):
        engine.generate([chat("hi")], Decoding(1020))


def test_a_template_without_a_system_role_folds_it(engine, monkeypatch):
    strict = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + engine.tokenizer.chat_template
    monkeypatch.setattr(engine.tokenizer, "chat_template", strict)
    assert "user\nYou rank.\n\nhello" in engine.chat_text(chat("hello"))


@pytest.mark.parametrize("kind", KINDS)
def test_sequence_logprobs_equal_a_plain_log_softmax(tiny_model, kind):
    model = tiny_model(kind)
    texts = ["A bright lens.", "Quiet.", "A long battery life and a steel body."]
    for text, (got, cut) in zip(texts, model.sequence_logprobs(texts)):
        ids = torch.tensor([[model.tokenizer.bos_token_id, *model.tokenizer(text, add_special_tokens=False)["input_ids"]]])
        want = model.model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
        assert np.allclose(got, want.numpy(), atol=1e-4) and not cut
    short, cut = next(model.sequence_logprobs(texts[2:], limit=5))
    assert cut and np.allclose(short, got[:4], atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_shared_prefix_does_not_change_next_token_logprobs(tiny_model, kind):
    model, tokens = tiny_model(kind), [5, 50, 300]
    shared = model.shared_prefix(chat)
    assert shared > 5
    with_, without = (list(model.next_token_logprobs(PROMPTS[:4], tokens, n)) for n in (shared, 0))
    assert np.allclose(with_, without, atol=1e-4)
    want = model.last_logits(model.encode_chat(PROMPTS[2])).log_softmax(-1)[tokens]
    assert np.allclose(without[2], want.numpy(), atol=1e-6)


def test_a_group_is_halved_when_memory_runs_out(engine, monkeypatch):
    want = [r.text for r in engine.generate(PROMPTS, Decoding(4))]
    real, sizes = engine._generate, []

    def tight(coded, group, *rest):
        sizes.append(len(group))
        if len(group) > 2:
            raise torch.OutOfMemoryError("no room")
        return real(coded, group, *rest)

    monkeypatch.setattr(engine, "_generate", tight)
    assert [r.text for r in engine.generate(PROMPTS, Decoding(4))] == want
    assert sizes == [8, 4, 2, 2, 2, 2]


def test_one_prompt_that_does_not_fit_raises(engine, monkeypatch):
    def full(*_):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(engine, "_generate", full)
    with pytest.raises(torch.OutOfMemoryError):
        engine.generate(PROMPTS[:2], Decoding(4))
