"""StealthRank follows the gradient of its energy."""

import pytest

from geobench.attacks import optimise, stealthrank
from geobench.attacks.vocabulary import vocabulary


@pytest.mark.parametrize("weights, prompt", [([0.0, 0.0, 5.0], "overlap"), ([0.0, 50.0, 0.0], "reply")])
def test_stealthrank_follows_its_gradient(engine, task, settings, monkeypatch, weights, prompt):
    monkeypatch.setattr(stealthrank, "NOISE", ((10**9, 0.0),))
    monkeypatch.setattr(stealthrank, "promotional", lambda problem: list(range(40, 80)))
    monkeypatch.setattr(stealthrank.soft, "straight_through", stealthrank.soft.soft_embeddings)  # smooth, so that the slope is the change
    chosen = settings(stealthrank_rate=0.01, stealthrank_orders=1, stealthrank_weights=weights, stealthrank_temperature=1.0)
    made = optimise.problem(stealthrank, task(3), engine, chosen, vocabulary(engine), 0, {})
    state = stealthrank.start(made)
    energies = []
    for number in range(6):
        energies.append(float(stealthrank.energy(made, state["y0"] + state["e"], made.scenes[0])[0].sum()))
        stealthrank.step(made, state, number)
    assert all(b < a for a, b in zip(energies, energies[1:]))
