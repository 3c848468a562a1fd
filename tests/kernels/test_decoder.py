"""The rewired forward against the model's own: logits, attention weights and gradients, with and without a prefix."""

import copy

import pytest
import torch

from geobench.errors import GeoBenchError
from geobench.kernels import decoder

KINDS = ["llama", "qwen2", "mistral"]


def ids_of(model, length: int, batch: int = 1) -> torch.Tensor:
    return torch.randint(5, model.config.vocab_size, (batch, length), generator=torch.Generator().manual_seed(length))


def assert_close(got, want, tolerance=1e-4):
    torch.testing.assert_close(got, want, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 13, 31])
def test_logits_equal_the_models_own(tiny_model, kind, length):
    model = tiny_model(kind).model
    ids = ids_of(model, length, batch=3)
    assert_close(decoder.logits(model, decoder.forward(model, ids).hidden), model(ids).logits.float())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cut", [1, 10, 22])
def test_a_prefix_changes_nothing(tiny_model, kind, cut):
    model = tiny_model(kind).model
    ids = ids_of(model, 23)
    past = decoder.forward(model, ids[:, :cut], keep=True).own
    assert len(past) == cut
    assert_close(decoder.logits(model, decoder.forward(model, ids[:, cut:], past).hidden), model(ids).logits[:, cut:].float())


def test_one_prefix_serves_a_batch_and_is_not_changed(tiny_model):
    model = tiny_model("llama").model
    head, tails = ids_of(model, 9), ids_of(model, 6, batch=4)
    past = decoder.forward(model, head, keep=True).own
    before = [k.clone() for k in past.keys]
    got = decoder.logits(model, decoder.forward(model, tails, past).hidden)
    assert_close(got, model(torch.cat([head.expand(4, -1), tails], 1)).logits[:, 9:].float())
    assert all(torch.equal(a, b) for a, b in zip(before, past.keys))


def test_crop_and_extend_rebuild_a_prefix(tiny_model):
    model = tiny_model("qwen2").model
    ids = ids_of(model, 17)
    whole = decoder.forward(model, ids, keep=True).own
    first = whole.crop(7)
    joined = first.extend(decoder.forward(model, ids[:, 7:], first, keep=True).own)
    for a, b in zip(joined.keys + joined.values, whole.keys + whole.values):
        assert_close(a, b)
    assert decoder.EMPTY.extend(whole) is whole


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cut", [0, 8])
def test_attention_rows_equal_eager_attention(tiny_model, kind, cut):
    model = tiny_model(kind).model
    eager = copy.deepcopy(model)
    eager.set_attn_implementation("eager")
    ids = ids_of(model, 19)
    want = sum(a[0].sum(0) for a in eager(ids, output_attentions=True).attentions)
    past = decoder.forward(model, ids[:, :cut], keep=True).own if cut else decoder.EMPTY
    read = torch.tensor([2, 5, 10])
    out = decoder.forward(model, ids[:, cut:], past, read=read, heads=decoder.all_heads(model))
    assert out.hidden is None
    assert_close(out.attention[0], want[read + cut])


def test_a_cut_forward_keeps_the_same_keys_and_values(tiny_model):
    model = tiny_model("llama").model
    whole, cut = (decoder.forward(model, ids_of(model, 9), keep=True, depth=depth) for depth in (None, 1))
    assert cut.hidden is None and len(cut.own.keys) == 1 and torch.equal(cut.own.keys[0], whole.own.keys[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cut", [0, 6])
def test_gradient_of_the_embeddings_equals_the_plain_one(tiny_model, kind, cut):
    model = tiny_model(kind).model
    ids = ids_of(model, 15)
    embedded = model.model.embed_tokens(ids).detach()
    past = decoder.forward(model, ids[:, :cut], keep=True).own if cut else decoder.EMPTY
    gradients = []
    for ours in (True, False):
        tail = embedded[:, cut:].clone().requires_grad_(True)
        if ours:
            logits = decoder.logits(model, decoder.forward(model, tail, past).hidden)
        else:
            logits = model(inputs_embeds=torch.cat([embedded[:, :cut], tail], 1)).logits[:, cut:]
        logits[0, -1].log_softmax(-1)[7].backward()
        gradients.append(tail.grad)
    assert gradients[0].abs().max() > 0
    assert_close(*gradients)


def test_causal_mask_with_a_window():
    mask = decoder.causal_mask(torch.tensor([2, 3]), 2, window=2)
    assert mask.tolist() == [[False, True, True, False], [False, False, True, True]]


def test_sliding_window_equals_the_models_own(tiny_model):
    model = copy.deepcopy(tiny_model("mistral").model)
    model.config.sliding_window = 5
    eager = copy.deepcopy(model)
    eager.set_attn_implementation("eager")
    ids = ids_of(model, 19)
    assert_close(decoder.logits(model, decoder.forward(model, ids).hidden), eager(ids).logits.float())


def test_another_architecture_is_refused():
    with pytest.raises(GeoBenchError, match="Linear is not"):
        decoder.forward(torch.nn.Linear(2, 2), torch.zeros(1, 1, dtype=torch.long))


SIZES = dict(vocab_size=300, hidden_size=32, intermediate_size=48, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2)


def built(kind: str, **more):
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(3)
    return AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **SIZES, **more)).eval()


@pytest.mark.parametrize("kind, more", [
    ("llama", {"attention_bias": True}),
    ("llama", {"rope_parameters": {
        "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16}}),
    ("mistral", {"sliding_window": 5}),
    ("mistral", {"sliding_window": None}),
    ("qwen2", {"use_sliding_window": False, "sliding_window": 5}),
    ("qwen2", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 0}),
    ("qwen3", {"head_dim": 16}),
    ("mixtral", {"num_local_experts": 4}),
])  # fmt: skip
def test_every_supported_family_gives_its_own_logits(kind, more):
    model = built(kind, **more)
    ids = ids_of(model, 23)
    past = decoder.forward(model, ids[:, :11], keep=True).own
    assert decoder.supports(model)
    with torch.no_grad():
        assert_close(decoder.logits(model, decoder.forward(model, ids[:, 11:], past).hidden), model(ids).logits[:, 11:].float())


@pytest.mark.parametrize("kind, more", [
    ("gemma", {}), ("gemma2", {}), ("granite", {"embedding_multiplier": 12.0}), ("olmo2", {}), ("smollm3", {"pad_token_id": 0}),
    ("phi3", {"pad_token_id": 0}),
    ("qwen2", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 2}),
    ("llama", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}),
])  # fmt: skip
def test_decoders_whose_layers_differ_are_not_rewired(kind, more):
    model = built(kind, **more)
    assert not decoder.supports(model)
    with pytest.raises(GeoBenchError, match="no shared-prefix kernels"):
        decoder.forward(model, ids_of(model, 5))
