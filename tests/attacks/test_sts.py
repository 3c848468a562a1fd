"""STS: its incumbent, and losses that stay exact under screening."""

import pytest

from geobench.attacks import objectives, optimise, sts
from geobench.attacks.vocabulary import vocabulary


def edits(module, tasks, engine, ranker, settings, folder):
    return [edit for _, edit in optimise.run(module, tasks, engine, ranker, settings, folder, {})]


def test_sts_never_rises_under_one_order_and_the_published_search_may(engine, task, ranker, settings, tmp_path):
    (edit,) = edits(sts, [task(2)], engine, ranker, settings(sts_orders=1), tmp_path)
    losses = [row["loss"] for row in edit["trace"]]
    assert all(b <= a + 1e-5 for a, b in zip(losses, losses[1:])) and losses[-1] < losses[0] - 1e-3
    (free,) = edits(sts, [task(2)], engine, ranker, settings(sts_orders=1, sts_incumbent=False), tmp_path)
    assert len({row["suffix"] for row in free["trace"]}) == 7  # it always moves


def test_the_objective_of_a_tested_row_is_its_mean_over_all_search_orders(engine, task, ranker, settings, tmp_path):
    (edit,) = edits(sts, [task(3)], engine, ranker, settings(sts_steps=3), tmp_path)
    made = optimise.problem(sts, task(3), engine, settings(), vocabulary(engine), 0, {})
    assert [row["step"] for row in edit["trace"] if "objective" in row] == [0, 3]
    for row in (edit["trace"][0], edit["trace"][3]):
        slot = engine.tokenizer(" " + row["suffix"], add_special_tokens=False)["input_ids"]
        means = [objectives.losses(engine.model, here, [slot])[0] for here in made.scenes]
        assert len(means) == 2 and row["objective"] == pytest.approx(sum(means) / 2, abs=1e-5)


def test_screening_keeps_losses_exact(engine, task, ranker, settings, tmp_path):
    chosen = settings(sts_orders=1, sts_verify=4)
    (edit,) = edits(sts, [task(3)], engine, ranker, chosen, tmp_path)
    made = optimise.problem(sts, task(3), engine, chosen, vocabulary(engine), 0, {})
    for row in edit["trace"]:
        slot = engine.tokenizer(" " + row["suffix"], add_special_tokens=False)["input_ids"]
        assert objectives.losses(engine.model, made.scenes[0], [slot])[0] == pytest.approx(row["loss"], abs=1e-4)


def test_what_does_not_read_back_is_passed_over_for_the_next_best(engine, task, settings, monkeypatch):
    made = optimise.problem(sts, task(3), engine, settings(sts_incumbent=False, sts_merge=0), vocabulary(engine), 0, {})
    here, slot = made.scenes[0], made.slot
    base = objectives.incumbent(engine.model, here, slot)
    drawn = [[*slot[:-1], token] for token in range(300, 330)]
    alive = sts.scene.survivors(drawn, slot, engine, made.scenes, made.words)
    losses = objectives.losses(engine.model, here, alive)
    ranked = [s for _, s in sorted(zip(losses, alive))]
    assert len(ranked) > 2
    monkeypatch.setattr(sts.scene, "stands", lambda s, *_: s != ranked[0])
    best, loss = sts.best_standing(made, here, drawn, base)
    assert best == ranked[1] and loss == pytest.approx(sorted(losses)[1], abs=1e-5)
    monkeypatch.setattr(sts.scene, "stands", lambda *_: False)
    assert sts.best_standing(made, here, drawn, base) == (slot, base.loss)


def test_merges_by_hand():
    slot, best = [1, 2, 3, 4], [[1, 9, 3, 4], [1, 8, 3, 4], [7, 2, 3, 4], [1, 2, 3, 6]]
    assert sts.merges(slot, best) == [[7, 9, 3, 4], [7, 9, 3, 6]]  # two changes of one place: the better one's
    assert sts.merges(slot, best[:1]) == [] and sts.merges(slot, []) == []


def test_merged_swaps_are_tried_and_lower_the_loss_further(engine, task, settings):
    found = {}
    for merge in (0, 8):
        made = optimise.problem(sts, task(3), engine, settings(sts_orders=1, sts_merge=merge), vocabulary(engine), 0, {})
        state = sts.start(made)
        found[merge] = sts.step(made, state, 0)[0], sum(a != b for a, b in zip(state["slot"], made.slot))
    assert found[8][0] < found[0][0] - 1e-3 and found[0][1] == 1 < found[8][1]
