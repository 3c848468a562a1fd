"""The read-out as an objective: equal to the ranker's scores, differentiable, and free of scale."""

import math

import pytest
import torch

from geobench.kernels import decoder
from geobench.kernels.readout import item_scores, promotion_loss, read_out


@pytest.mark.parametrize("kind", ["llama", "qwen2", "mistral"])
@pytest.mark.parametrize("cut", [0, 9])
def test_a_prefix_and_embeddings_change_nothing(tiny_model, kind, cut):
    model = tiny_model(kind).model
    ids = torch.arange(10, 40)
    whole = read_out(model, decoder.EMPTY, ids, [5, 6], [7, 8, 9]).difference
    past = decoder.forward(model, ids[None, :cut], keep=True).own if cut else decoder.EMPTY
    for rest in (ids[cut:], model.get_input_embeddings().weight[ids[cut:]]):
        torch.testing.assert_close(read_out(model, past, rest, [5, 6], [7, 8, 9]).difference, whole, atol=1e-4, rtol=1e-4)


def test_equal_queries_cancel(tiny_model):
    out = read_out(tiny_model("llama").model, decoder.EMPTY, torch.arange(10, 30), [5, 6], [5, 6])
    assert out.difference.abs().max() < 1e-5 and out.own is None


def test_the_gradient_is_the_slope(tiny_model):
    model = tiny_model("llama").model
    table, ids = model.get_input_embeddings().weight, torch.arange(10, 30)

    def loss(x):
        return promotion_loss(item_scores(read_out(model, decoder.EMPTY, x, [5, 6], [7]).difference, [(2, 8), (8, 12), (12, 20)]), 1)

    x = table[ids].detach().clone().requires_grad_()
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(loss(x), x)
    step = torch.zeros_like(x)
    step[9] = torch.randn(x.shape[1], generator=torch.Generator().manual_seed(0)) * 1e-2
    with torch.no_grad():
        slope = float(loss(x + step) - loss(x - step)) / 2
    assert slope == pytest.approx(float((gradient * step).sum()), rel=2e-2, abs=1e-5)


def test_promotion_loss_by_hand():
    scores = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    z = math.sqrt(1.5)
    assert float(promotion_loss(scores, 2)) == pytest.approx(-z + math.log(math.exp(-z) + 1 + math.exp(z)))
    assert float(promotion_loss(scores * 1e-4, 2)) == pytest.approx(float(promotion_loss(scores, 2)))
    assert float(promotion_loss(torch.ones(3), 0)) == pytest.approx(math.log(3))
