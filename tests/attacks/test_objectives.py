"""Both objectives of one scene: gradients are slopes, exact losses agree, the best is the least."""

import pytest

from geobench.attacks import objectives, optimise, sts
from geobench.attacks.vocabulary import vocabulary


@pytest.mark.parametrize("objective", ["target", "attention"])
def test_the_incumbents_loss_and_the_best_are_exact(engine, task, settings, objective):
    made = optimise.problem(sts, task(3), engine, settings(objective=objective), vocabulary(engine), 0, {})
    for here in made.scenes:
        base = objectives.incumbent(engine.model, here, made.slot)
        slots = [made.slot, *([*made.slot[:n], 200 + n, *made.slot[n + 1 :]] for n in range(6))]
        losses = objectives.losses(engine.model, here, slots, base)
        assert losses[0] == pytest.approx(base.loss, abs=1e-5) and len(set(losses)) > 3
        assert objectives.best(engine.model, here, base, slots, None) == (losses.index(min(losses)), pytest.approx(min(losses), abs=1e-5))
        assert base.gradient.shape == (6, engine.model.config.vocab_size) and base.gradient.abs().max() > 0


def test_spans_move_with_the_slots_length(engine, task, settings):
    made = optimise.problem(sts, task(3), engine, settings(objective="attention"), vocabulary(engine), 0, {})
    here = made.scenes[0]
    longer = objectives.moved(here, here.size + 2)
    start, end = here.spans[here.shown]
    assert objectives.moved(here, here.size) == list(here.spans) and longer[here.shown] == (start, end + 2)
    assert all(b == (a[0] + 2, a[1] + 2) for a, b in zip(here.spans[here.shown + 1 :], longer[here.shown + 1 :]))
    assert longer[: here.shown] == list(here.spans[: here.shown])
