"""The read-out against plain attentions; as an objective: differentiable, free of scale, and the same in batches and screens."""

import copy
import math

import pytest
import torch

from geobench.kernels import decoder, readout
from geobench.kernels.decoder import Heads
from geobench.kernels.readout import Wanted, item_scores, promotion_loss, read_out

KINDS = ["llama", "qwen2", "mistral"]
SOME = Heads({0: ([1, 3], [2.0, 0.5]), 1: ([2], [1.5])})
SPANS = ((2, 8), (8, 19), (19, 26), (26, 36))  # of prompts 10 + 7 + 19


def eager(model, ids, query, heads) -> torch.Tensor:
    """[heads, prompt] weighted attention of the query's rows, their mean, by the model's own forward."""
    plain = copy.deepcopy(model)
    plain.set_attn_implementation("eager")
    found = plain(torch.tensor([ids + query]), output_attentions=True).attentions
    rows = [w * found[layer][0, h, len(ids) :, : len(ids)].mean(0) for layer in heads.layers for h, w in zip(*heads.layers[layer])]
    return torch.stack(rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", ["all", "some", "first layer"])
def test_the_difference_is_that_of_the_models_own_attentions(tiny_model, kind, which):
    model, ids = tiny_model(kind).model, list(range(10, 40))
    heads = {"all": decoder.all_heads(model), "some": SOME, "first layer": Heads({0: ([2], [1.0])})}[which]
    want = eager(model, ids, [5, 6], heads) - eager(model, ids, [7, 8, 9], heads)
    past = decoder.forward(model, torch.tensor([ids[:9]]), keep=True).own
    for known, rest in ((decoder.EMPTY, ids), (past, ids[9:])):
        apart = read_out(model, known, torch.tensor([rest, rest]), [5, 6], [7, 8, 9], heads, apart=True).difference
        summed = read_out(model, known, torch.tensor([rest, rest]), [5, 6], [7, 8, 9], heads).difference
        for row in range(2):
            torch.testing.assert_close(apart[row], want, atol=1e-6, rtol=1e-4)
            torch.testing.assert_close(summed[row], want.sum(0), atol=1e-6, rtol=1e-4)


def test_nothing_runs_behind_the_last_head(tiny_model, monkeypatch):
    model, seen = tiny_model("llama").model, []
    real = decoder.project
    monkeypatch.setattr(decoder, "project", lambda layer, *rest: seen.append(layer) or real(layer, *rest))
    out = read_out(model, decoder.EMPTY, torch.arange(10, 30)[None], [5, 6], [7], Heads({0: ([2], [1.0])}), keep=True)
    assert len(seen) == 1 and len(out.own.keys) == 1 and out.own.keys[0].shape[2] == 20


@pytest.mark.parametrize("cut", [0, 9])
def test_embeddings_change_nothing(tiny_model, cut):
    model = tiny_model("llama").model
    ids = torch.arange(10, 40)[None]
    past = decoder.forward(model, ids[:, :cut], keep=True).own if cut else decoder.EMPTY
    whole = read_out(model, decoder.EMPTY, ids, [5, 6], [7, 8, 9], SOME).difference
    soft = read_out(model, past, model.get_input_embeddings().weight[ids[:, cut:]], [5, 6], [7, 8, 9], SOME).difference
    torch.testing.assert_close(soft, whole, atol=1e-6, rtol=1e-4)


def test_equal_queries_cancel(tiny_model):
    out = read_out(tiny_model("llama").model, decoder.EMPTY, torch.arange(10, 30)[None], [5, 6], [5, 6], SOME)
    assert out.difference.abs().max() < 1e-6 and out.own is None


@pytest.fixture(params=KINDS)
def case(request, tiny_model):
    """(model, past, slot, tail, wanted) of a prompt of 10 + 7 + 19 tokens."""
    model, ids = tiny_model(request.param).model, torch.randint(5, 300, (36,), generator=torch.Generator().manual_seed(4)).tolist()
    past = decoder.forward(model, torch.tensor([ids[:10]]), keep=True).own
    return model, past, ids[10:17], ids[17:], Wanted(SOME, [5, 6, 7], [8, 9], SPANS, 1, 10, 7)


def plain_loss(case, slot) -> float:
    model, past, _, tail, wanted = case
    rest = torch.tensor([[*slot, *tail]])
    return float(readout.loss_of(model, past, wanted, rest, len(slot))[0])


def test_the_gradient_is_the_slope(case):
    model, past, slot, tail, wanted = case
    base = readout.incumbent(model, past, slot, tail, wanted)
    assert base.loss == pytest.approx(plain_loss(case, slot), abs=3e-5) and len(base.own) == 26 and base.norms.shape == (19,)
    table = model.get_input_embeddings().weight
    x, step = table[torch.tensor([*slot, *tail])], torch.zeros(26, table.shape[1])
    step[4] = 3e-3 * (table[200] - table[slot[4]]) / (table[200] - table[slot[4]]).norm()
    with torch.no_grad():
        up, down = (float(readout.loss_of(model, past, wanted, (x + sign * step)[None], 7)[0]) for sign in (1, -1))
    want = float(base.gradient[4, 200] - base.gradient[4, slot[4]]) * 3e-3 / float((table[200] - table[slot[4]]).norm())
    assert (up - down) / 2 == pytest.approx(want, rel=3e-2, abs=2e-6)


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_exact_losses_equal_those_one_by_one(case, batch):
    model, past, slot, tail, wanted = case
    slots = [[*slot[:n], 50 + n, *slot[n + 1 :]] for n in (6, 0, 3, 2, 5)] + [slot]
    base = readout.incumbent(model, past, slot, tail, wanted)
    want = [plain_loss(case, s) for s in slots]
    assert len({round(w, 6) for w in want}) == 6
    for shared in (None, base):
        assert readout.candidate_losses(model, past, slots, tail, wanted, batch, shared) == pytest.approx(want, abs=3e-5)


def test_a_screen_that_recomputes_every_row_is_exact_and_its_choice_is(case, monkeypatch):
    model, past, slot, tail, wanted = case
    base = readout.incumbent(model, past, slot, tail, wanted)
    slots = [slot, *([*slot[: n % 7], 20 + n, *slot[n % 7 + 1 :]] for n in range(30))]
    exact = readout.candidate_losses(model, past, slots, tail, wanted)
    screened = readout.screened_losses(model, past, base, slots, tail, wanted)
    assert screened[0] == pytest.approx(base.loss, abs=3e-5) and screened != pytest.approx(exact, abs=3e-5)
    monkeypatch.setattr(readout, "LOUDEST", 100)
    assert readout.screened_losses(model, past, base, slots, tail, wanted) == pytest.approx(exact, abs=3e-5)


def test_lines_move_with_the_slots_length():
    wanted = Wanted(SOME, [], [], SPANS, 1, 10, 7)
    assert wanted.lines(7) == list(SPANS) and wanted.lines(9) == [(2, 8), (8, 21), (21, 28), (28, 38)]


def test_promotion_loss_by_hand():
    scores = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    z = math.sqrt(1.5)
    assert float(promotion_loss(scores, 2)) == pytest.approx(-z + math.log(math.exp(-z) + 1 + math.exp(z)))
    assert float(promotion_loss(scores * 1e-4, 2)) == pytest.approx(float(promotion_loss(scores, 2)))
    assert float(promotion_loss(torch.ones(1, 3), 0)) == pytest.approx(math.log(3))


def test_item_scores_are_means_over_lines():
    assert item_scores(torch.tensor([[1.0, 2.0, 6.0, 4.0]]), [(0, 1), (1, 3)]).tolist() == [[1.0, 4.0]]
