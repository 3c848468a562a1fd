"""Soft suffixes: energy terms by hand and against plain forwards."""

import math

import pytest
import torch

from geobench.kernels import candidates, soft


def one_hot_logits(model, rows):
    return torch.nn.functional.one_hot(torch.tensor(rows), model.config.vocab_size).float() * 50


@pytest.mark.parametrize("kind", ["llama", "qwen2", "mistral"])
def test_sharp_logits_are_their_tokens(tiny_model, kind):
    model, rows, head, tail, goal = tiny_model(kind).model, [[20, 30, 41], [50, 61, 70]], list(range(80, 99)), [7, 9, 11], [33, 34]
    y, past = one_hot_logits(model, rows), candidates.prefix(model, head)
    exact = candidates.candidate_losses(model, past, rows, tail, goal)
    for embed in (soft.soft_embeddings, soft.straight_through):
        assert soft.reply_losses(model, past, embed(model, y, 0.1), tail, goal).tolist() == pytest.approx(exact, abs=1e-4)
    with torch.no_grad():
        own = soft.next_distribution(model, past.crop(18), head[-1], soft.soft_embeddings(model, y, 0.1))
        want = torch.cat([model(torch.tensor([[*head, *row]])).logits[:, 18:-1] for row in rows])
    torch.testing.assert_close(own, want.float(), atol=1e-4, rtol=1e-4)


def test_straight_through_has_hard_values_and_soft_gradients(tiny_model):
    model = tiny_model("llama").model
    y = torch.randn(1, 2, model.config.vocab_size, generator=torch.Generator().manual_seed(1)).requires_grad_()
    with torch.enable_grad():
        x = soft.straight_through(model, y, 0.5)
        (gradient,) = torch.autograd.grad(x.sum(), y)
    torch.testing.assert_close(x, model.get_input_embeddings().weight[y.argmax(-1)], atol=1e-6, rtol=1e-5)
    assert gradient.abs().max() > 0


def test_fluency_by_hand():
    y = torch.tensor([[[2.0, 1.0, 0.0, -1.0]]])
    own = torch.tensor([[[0.0, math.log(3.0), -9.0, math.log(2.0)]]])  # top 1 is token 1; token 3 always kept: weights 3/5 and 2/5
    z = math.log(sum(math.exp(v) for v in (2, 1, 0, -1)))
    assert float(soft.fluency(y, own, 1, [3])) == pytest.approx(0.6 * (z - 1) + 0.4 * (z + 1), abs=1e-5)


def test_overlap_counts_a_word_once():
    sharp = torch.full((1, 4, 5), -60.0)
    for place, token in enumerate((2, 2, 3, 0)):
        sharp[0, place, token] = 60.0
    assert float(soft.overlap(sharp, [2, 4])) == pytest.approx(0.25)
    assert float(soft.overlap(sharp, [2, 3])) == pytest.approx(0.5)
