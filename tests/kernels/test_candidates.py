"""Gradients, exact and screened losses against the model's own forward over the whole prompt."""

import importlib
import json

import pytest
import torch

from geobench import paths
from geobench.kernels import candidates, decoder
from geobench.kernels.decoder import Prefix

KINDS = ["llama", "qwen2", "mistral"]
PLACES = {"first": (1, 40), "middle": (21, 19), "last": (33, 0)}  # tokens before and after the slot


def ids(count: int, seed: int) -> list[int]:
    return torch.randint(5, 300, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


def plain(model, whole: list[int], goal: list[int], rows=None, at: int = 0) -> torch.Tensor:
    """Loss by the model's own forward; rows [slot, V]: one-hot rows that stand at `at`."""
    table = model.get_input_embeddings().weight
    x = table[torch.tensor([*whole, *goal])]
    if rows is not None:
        x = torch.cat([x[:at], rows @ table, x[at + len(rows) :]])
    out = model(inputs_embeds=x[None], use_cache=False).logits[0, -len(goal) - 1 : -1]
    return torch.nn.functional.cross_entropy(out, torch.tensor(goal))


@pytest.fixture(params=[(kind, place) for kind in KINDS for place in PLACES], ids="-".join)
def case(request, tiny_model):
    kind, place = request.param
    model, (before, after) = tiny_model(kind).model, PLACES[place]
    head, slot, tail, goal = ids(before, 1), ids(7, 2), ids(after, 3), ids(3, 4)
    return model, head, candidates.prefix(model, head), slot, tail, goal


def test_gradient_equals_plain_autograd(case):
    model, head, past, slot, tail, goal = case
    rows = torch.nn.functional.one_hot(torch.tensor(slot), model.config.vocab_size).float().requires_grad_()
    loss = plain(model, [*head, *slot, *tail], goal, rows, len(head))
    (wanted,) = torch.autograd.grad(loss, rows)
    loss = loss.detach()
    base = candidates.incumbent(model, past, slot, tail, goal)
    assert base.loss == pytest.approx(loss.item(), abs=1e-4) and wanted.abs().max() > 1e-3
    torch.testing.assert_close(base.gradient, wanted, atol=1e-4, rtol=1e-4)
    assert base.norms.shape == (len(tail),) and len(base.own) == len(slot) + len(tail) + len(goal) - 1


@pytest.mark.parametrize("batch", [1, 3, 64])
@pytest.mark.parametrize("shared", [False, True])
def test_exact_losses_equal_plain_ones(case, batch, shared):
    model, head, past, slot, tail, goal = case
    slots = [[*slot[:n], 50 + n, *slot[n + 1 :]] for n in (6, 0, 3, 2, 5)] + [slot]
    base = candidates.incumbent(model, past, slot, tail, goal) if shared else None
    with torch.no_grad():
        wanted = [float(plain(model, [*head, *s, *tail], goal)) for s in slots]
    assert len({round(w, 6) for w in wanted}) == 6
    assert candidates.candidate_losses(model, past, slots, tail, goal, batch, base) == pytest.approx(wanted, abs=1e-4)


def test_a_screen_that_recomputes_every_row_is_exact(case, monkeypatch):
    model, _, past, slot, tail, goal = case
    monkeypatch.setattr(candidates, "LOUDEST", 100)
    base = candidates.incumbent(model, past, slot, tail, goal)
    slots = [[*slot[:n], 60 + n, *slot[n + 1 :]] for n in (6, 0, 3)]
    exact = candidates.candidate_losses(model, past, slots, tail, goal)
    assert candidates.screened_losses(model, past, base, slots, tail, goal) == pytest.approx(exact, abs=1e-4)


def test_a_screen_is_near_and_its_choice_is_exact(case):
    model, _, past, slot, tail, goal = case
    base = candidates.incumbent(model, past, slot, tail, goal)
    slots = [slot, *([*slot[: n % 7], 20 + n, *slot[n % 7 + 1 :]] for n in range(30))]
    exact = candidates.candidate_losses(model, past, slots, tail, goal)
    screened = candidates.screened_losses(model, past, base, slots, tail, goal)
    assert screened[0] == pytest.approx(base.loss, abs=1e-4)  # nothing changed, nothing stale
    found = candidates.verified(screened, 6, lambda numbers: [exact[n] for n in numbers])
    assert len(found) == 6 and {n for _, n in found} == set(sorted(range(31), key=screened.__getitem__)[:6])
    assert found == sorted(found) and all(loss == exact[n] for loss, n in found)


def test_an_incumbent_without_gradient_serves_a_screen_too(case):
    model, _, past, slot, tail, goal = case
    slots = [[*slot[:n], 60 + n, *slot[n + 1 :]] for n in (6, 0, 3)]
    exact = candidates.candidate_losses(model, past, slots, tail, goal)
    plain, base = (candidates.incumbent(model, past, slot, tail, goal, gradient) for gradient in (False, True))
    assert plain.gradient is None and plain.loss == pytest.approx(base.loss, abs=1e-5)
    assert candidates.candidate_losses(model, past, slots, tail, goal, base=plain) == pytest.approx(exact, abs=1e-4)
    assert all(torch.isfinite(torch.tensor(candidates.screened_losses(model, past, plain, slots, tail, goal))))


def test_the_prefix_is_shared_not_copied(case, monkeypatch):
    model, _, past, slot, tail, goal = case
    seen = []
    real = decoder._attend
    monkeypatch.setattr(decoder, "_attend", lambda q, k, v, shared, *rest: seen.append(shared) or real(q, k, v, shared, *rest))
    candidates.candidate_losses(model, past, [slot] * 8, tail, goal, 8)
    assert {s[0].data_ptr() for s in seen} == {k.data_ptr() for k in past.keys} and all(len(s[0]) == 1 for s in seen)
    assert isinstance(past, Prefix)


def test_a_large_vocabulary_costs_no_precision():
    """Summed term by term in float32, 50,000 exponentials lose 1e-4 of the loss."""
    weight, hidden = torch.randn(50000, 8, generator=torch.Generator().manual_seed(0)), torch.randn(2, 3, 8)

    class Model:
        lm_head, model = staticmethod(lambda x: x @ weight.T.to(x.dtype)), type("Core", (), {"norm": staticmethod(lambda x: x)})

    goal = [7, 49999, 123]
    scores = (hidden.double() @ weight.double().T).log_softmax(-1)
    wanted = [-sum(float(scores[n, place, token]) for place, token in enumerate(goal)) / 3 for n in range(2)]
    assert candidates.goal_losses(Model, hidden, goal).tolist() == pytest.approx(wanted, abs=1e-5)


def test_the_gpu_benchmark_exits_1_when_a_loss_differs(monkeypatch, capsys):
    monkeypatch.syspath_prepend(paths.ROOT / "benchmarks")
    gpu = importlib.import_module("gpu")
    assert gpu.main(["--tiny", "--candidates", "9"]) == 0
    assert json.loads(capsys.readouterr().out)["relative_difference"] < 1e-6
    monkeypatch.setattr(gpu, "plain_losses", lambda model, head, few, *rest: [7.0] * len(few))
    assert gpu.main(["--tiny", "--candidates", "9"]) == 1
