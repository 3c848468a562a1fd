"""Both objectives of one scene: gradients are slopes, exact losses agree, a screen starts from them."""

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
        screened = objectives.screened(engine.model, here, slots, base)
        assert screened[0] == pytest.approx(base.loss, abs=3e-5)
        assert base.gradient.shape == (6, engine.model.config.vocab_size) and base.gradient.abs().max() > 0

