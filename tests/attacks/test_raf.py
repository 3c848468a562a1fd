"""RAF grows token by token, and weighs fluency against the objective."""

from types import SimpleNamespace

import pytest
import torch

from geobench.attacks import objectives, optimise, raf, scene
from geobench.attacks.vocabulary import vocabulary


def edits(module, tasks, engine, ranker, settings, folder):
    return [edit for _, edit in optimise.run(module, tasks, engine, ranker, settings, folder, {})]


def test_raf_grows_to_its_length_and_stops(engine, task, ranker, settings, tmp_path):
    (edit,) = edits(raf, [task(1)], engine, ranker, settings(raf_tokens=2, raf_steps=50, raf_patience=2), tmp_path)
    lengths = [len(engine.tokenizer(" " + row["suffix"], add_special_tokens=False)["input_ids"]) for row in edit["trace"]]
    assert lengths == sorted(lengths) and lengths[-1] == 2 and edit["trace"][-1]["step"] <= 4


def test_a_place_is_finished_when_its_best_token_comes_again_or_patience_ends():
    problem = SimpleNamespace(setting=lambda name: {"patience": 4, "tokens": 2}[name])
    state = {"slot": [5], "seen": []}
    raf._advance(problem, state, 7)
    raf._advance(problem, state, 8)
    assert state == {"slot": [5], "seen": [7, 8]}
    raf._advance(problem, state, 7)  # again
    assert state == {"slot": [5, 5], "seen": []}
    for best in (1, 2, 3, 4):
        raf._advance(problem, state, best)
    assert state["finished"]


@pytest.mark.parametrize("alpha, target, likeliest", [(1e5, 0.0, True), (0.0, 1e5, False)])
def test_the_drawn_token_is_the_most_fluent_or_the_best_for_the_objective(engine, task, settings, alpha, target, likeliest):
    chosen = settings(raf_guide=0.0, raf_orders=1, raf_alpha=alpha, raf_target=target)
    made = optimise.problem(raf, task(3), engine, chosen, vocabulary(engine), 0, {})
    state = raf.start(made)
    logp = raf._next_token(made.model, made.scenes[0], [])
    tried = scene.survivors(raf._kept(made, state["slot"], logp), made.slot, engine, made.scenes, made.words)
    losses = objectives.losses(made.model, made.scenes[0], tried)
    raf.step(made, state, 0)
    best = max(tried, key=lambda slot: float(logp[slot[-1]])) if likeliest else tried[losses.index(min(losses))]
    assert len(tried) > 3 and state["shown"] == best


def test_slots_that_do_not_read_back_are_never_drawn(engine, task, settings, monkeypatch):
    made = optimise.problem(raf, task(3), engine, settings(), vocabulary(engine), 0, {})
    tried, total = [[1], [2], [3]], torch.tensor([0.0, 50.0, 1.0], dtype=torch.float64)
    monkeypatch.setattr(raf.scene, "stands", lambda slot, *_: slot != [1])
    assert {raf._drawn(made, tried, total.clone(), u) for u in (0.01, 0.3, 0.999)} == {2}  # [2] has next to no chance
    monkeypatch.setattr(raf.scene, "stands", lambda *_: False)
    assert raf._drawn(made, tried, total.clone(), 0.5) is None
    state = raf.start(made)
    losses = raf.step(made, state, 0)
    assert state["finished"] and state["shown"] == made.slot[:1] and len(losses) == 1


@pytest.mark.parametrize("uniform, taken", [(0.0, 0), (0.49, 0), (0.5, 1), (0.74, 1), (0.76, 2), (0.999999, 2)])
def test_a_slot_is_drawn_by_the_softmax_of_what_it_lacks(monkeypatch, uniform, taken):
    monkeypatch.setattr(raf.scene, "stands", lambda *_: True)
    made = SimpleNamespace(engine=None, scenes=None, words=None)
    total = -torch.tensor([0.5, 0.25, 0.25, 0.0], dtype=torch.float64).log()  # chances 1/2, 1/4, 1/4, none
    assert raf._drawn(made, [[1], [2], [3], [4]], total, uniform) == taken


def test_a_draw_at_the_very_end_takes_the_last_slot_that_can_be_drawn(monkeypatch):
    monkeypatch.setattr(raf.scene, "stands", lambda *_: True)
    made = SimpleNamespace(engine=None, scenes=None, words=None)
    assert raf._drawn(made, [[1], [2], [3]], torch.tensor([0.0, 0.0, float("inf")], dtype=torch.float64), 1.0) == 1


def test_patience_counts_the_best_token_and_not_the_drawn_one(engine, task, settings, monkeypatch):
    made = optimise.problem(raf, task(3), engine, settings(raf_guide=0.0, raf_orders=1, raf_alpha=0.0, raf_target=1.0),
                            vocabulary(engine), 0, {})  # fmt: skip
    state, seen = raf.start(made), {}
    monkeypatch.setattr(raf, "_drawn", lambda problem, tried, total, uniform: seen.update(tried=tried, total=total.clone()) or 1)
    raf.step(made, state, 0)
    best = min(zip(seen["total"].tolist(), seen["tried"]))[1]
    assert state["seen"] == [best[-1]] and best != seen["tried"][1] and state["shown"] == seen["tried"][1]
