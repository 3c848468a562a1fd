"""The shared loop of the white-box attacks on a tiny decoder: progress, honesty, resumption, selection, errors."""

from types import SimpleNamespace

import pytest
import torch

from geobench.attacks import objectives, optimise, raf, random_search, scene, stealthrank, sts
from geobench.attacks.base import Task
from geobench.attacks.vocabulary import vocabulary
from geobench.errors import GeoBenchError
from geobench.lists import make_list
from geobench.orders import evaluation_orders
from geobench.rankers.base import Ranking

MODULES = pytest.mark.parametrize("module", [sts, raf, stealthrank, random_search], ids=lambda m: m.METHOD)


def edits(module, tasks, engine, ranker, settings, folder):
    return [edit for _, edit in optimise.run(module, tasks, engine, ranker, settings, folder, {})]


@MODULES
@pytest.mark.parametrize("objective, prompt", [("target", "deployed"), ("target", "own"), ("attention", "deployed")])
def test_every_method_runs_on_both_objectives_and_prompts(module, engine, task, ranker, settings, tmp_path, objective, prompt):
    chosen = settings(objective=objective, optimisation_prompt=prompt, sts_steps=3, raf_steps=3, stealthrank_steps=3)
    (edit,) = edits(module, [task(4)], engine, ranker, chosen, tmp_path)
    tested = [row for row in edit["trace"] if "ranks" in row]
    assert edit["text"] == task(4).item.description.replace("\n ", "\n ") + (" " + edit["suffix"] if edit["suffix"] else "")
    assert edit["suffix"] in {row["suffix"] for row in tested} and {0, 3} == {row["step"] for row in tested}
    assert edit["suffix"].isascii() and edit["suffix"].isprintable()
    assert edit["tokens"]["forward"] >= edit["tokens"]["backward"] >= (module is not random_search)
    assert not list(tmp_path.iterdir())  # checkpoints go once the edit is made


@MODULES
def test_a_killed_optimisation_goes_on_to_the_same_suffix(module, engine, task, ranker, settings, tmp_path, monkeypatch):
    chosen = settings(checkpoint_every=1)
    monkeypatch.setattr(optimise.time, "monotonic", iter(range(0, 10**6, 10)).__next__)  # every step is worth saving
    (whole,) = edits(module, [task(2)], engine, ranker, chosen, tmp_path)
    real, calls = module.step, []

    def dies(problem, state, number):
        calls.append(number)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(problem, state, number)

    monkeypatch.setattr(module, "step", dies)
    with pytest.raises(KeyboardInterrupt):
        edits(module, [task(2)], engine, ranker, chosen, tmp_path)
    assert len(list(tmp_path.glob("*.safetensors"))) == 1
    (resumed,) = edits(module, [task(2)], engine, ranker, chosen, tmp_path)
    assert resumed == whole and calls[:5] == [0, 1, 2, 3, 3]


@MODULES
def test_deterministic_whatever_came_before(module, engine, task, ranker, settings, tmp_path):
    chosen = settings(sts_steps=2, raf_steps=2, stealthrank_steps=2)
    (alone,) = edits(module, [task(4)], engine, ranker, chosen, tmp_path)
    assert edits(module, [task(1), task(4)], engine, ranker, chosen, tmp_path)[1] == alone
    (other,) = edits(module, [task(4)], engine, ranker, settings(sts_steps=2, raf_steps=2, stealthrank_steps=2, seed=4), tmp_path)
    assert other["trace"] != alone["trace"]


def test_the_final_text_is_what_was_optimised(engine, task, ranker, settings, tmp_path):
    for module in (sts, raf):
        (edit,) = edits(module, [task(4)], engine, ranker, settings(), tmp_path)
        made = optimise.problem(module, task(4), engine, settings(), vocabulary(engine), 0, {})
        slot = engine.tokenizer(" " + edit["suffix"], add_special_tokens=False)["input_ids"]
        assert scene.stands(slot, engine, made.scenes, made.words)


def test_orders_of_search_test_and_evaluation_are_disjoint(engine, task, settings):
    made = optimise.problem(sts, task(1), engine, settings(sts_orders=3, test_orders=2), vocabulary(engine), 0, {})
    evaluated = {tuple(o) for o in evaluation_orders(task(1).list.key, 4, 10, 3)}
    assert len(made.scenes) == 3 and len(made.held_out) == 2 and not set(made.held_out) & evaluated
    own = settings(optimisation_prompt="own", objective="target", test_orders=1)
    shown = optimise.problem(stealthrank, task(1), engine, own, vocabulary(engine), 0, {})
    assert all(here.after.count("Kettle") == 0 for here in shown.scenes)  # its own prompt shows the target last


def test_selection_rules():
    rows = [
        {"step": 0, "ranks": [3, 1], "mean_rank": 2.0}, {"step": 1}, {"step": 2, "ranks": [1, 4], "mean_rank": 2.5},
        {"step": 3, "ranks": [2, 2], "mean_rank": 2.0}, {"step": 4, "ranks": [1, 5], "mean_rank": 3.0},
    ]  # fmt: skip
    assert [optimise.chosen(rows, rule)["step"] for rule in ("held_out", "released", "last")] == [3, 2, 4]


def test_several_restarts_share_the_choice(engine, task, ranker, settings, tmp_path):
    (edit,) = edits(sts, [task(2)], engine, ranker, settings(optimisation_seeds=2, sts_steps=2), tmp_path)
    assert {row["restart"] for row in edit["trace"]} == {0, 1}
    best = min(row["mean_rank"] for row in edit["trace"] if "ranks" in row)
    assert best == optimise.chosen(edit["trace"], "held_out")["mean_rank"]


def test_identity_holds_what_determines_the_suffix(settings):
    base = optimise.identity(sts, settings())
    assert base["sts_verify"] == settings().sts_verify and base["objective"] == "attention" and "raf_top" not in base
    for change in ({"sts_top_k": 3}, {"selection": "last"}, {"optimisation_seeds": 2}, {"test_orders": 3}):
        assert optimise.identity(sts, settings(**change)) != base


def test_errors_name_the_cause(engine, short_engine, task, ranker, settings, tmp_path):
    with pytest.raises(GeoBenchError, match="raf needs gradients"):
        edits(raf, [task(1)], SimpleNamespace(), ranker, settings(), tmp_path)
    with pytest.raises(GeoBenchError, match=r"toy/kettles item 1 \(Amber Kettle\): .* do not fit the 64"):
        edits(sts, [task(1)], short_engine, ranker, settings(), tmp_path)


def test_a_torn_checkpoint_cannot_exist(engine, task, settings, tmp_path):
    made = optimise.problem(sts, task(1), engine, settings(), vocabulary(engine), 0, {})
    file, found = optimise._file(tmp_path, made), optimise.Search({"slot": [1, 2], "y": torch.ones(2)}, 3, [{"step": 0}])
    optimise._save(file, found)
    assert [f.name for f in tmp_path.iterdir()] == [file.name]
    back = optimise._load(file, "cpu")
    assert back.state["slot"] == [1, 2] and torch.equal(back.state["y"], torch.ones(2)) and (back.step, back.trace) == (3, [{"step": 0}])


def test_a_short_list_never_optimises_on_what_it_holds_out(engine, task, settings):
    rows = [(item.name, item.description) for item in task(1).list.items]
    short = Task(make_list("toy", "trio", "kettle", rows[:3]), 1)
    made = optimise.problem(sts, short, engine, settings(sts_orders=8, test_orders=2), vocabulary(engine), 0, {})
    assert len(made.scenes) == 1 and len(made.held_out) == 2
    with pytest.raises(GeoBenchError, match=r"list `toy/trio` of 3 items: test_orders=3 holds all of its search orders out"):
        optimise.problem(sts, short, engine, settings(test_orders=3), vocabulary(engine), 0, {})
    with pytest.raises(GeoBenchError, match="both orders of its two items"):
        pair = Task(make_list("toy", "pair", "kettle", rows[:2]), 1)
        optimise.problem(sts, pair, engine, settings(), vocabulary(engine), 0, {})


def test_the_own_prompt_of_stealthrank_shows_the_target_last(engine, task, settings):
    from geobench.orders import search_split

    words, chosen = vocabulary(engine), settings(test_orders=2, stealthrank_orders=3, optimisation_prompt="own", objective="target")
    made = optimise.problem(stealthrank, task(2), engine, chosen, words, 0, {})
    assert (made.held_out, len(made.scenes)) == (search_split("toy/kettles", 4, 2, 3, chosen.seed, 1)[0], 3)


def test_a_damaged_checkpoint_is_told_of_and_begun_anew(tmp_path):
    (tmp_path / "c.safetensors").write_bytes(b"torn")
    with pytest.warns(UserWarning, match="is damaged .*; its optimisation begins anew"):
        assert optimise._load(tmp_path / "c.safetensors", "cpu") is None


def test_methods_of_one_list_share_its_clean_prompts(engine, task, ranker, settings, tmp_path):
    clean, chosen = {}, settings(sts_steps=1, raf_steps=1, raf_orders=2, stealthrank_steps=1)
    (first,) = [e for _, e in optimise.run(sts, [task(2)], engine, ranker, chosen, tmp_path, clean)]
    kept = {key: id(past) for key, (_, past) in clean.items()}
    (second,) = [e for _, e in optimise.run(raf, [task(2)], engine, ranker, chosen, tmp_path, clean)]
    assert kept and {key: id(past) for key, (_, past) in clean.items()} == kept
    assert second == edits(raf, [task(2)], engine, ranker, chosen, tmp_path)[0]


@pytest.mark.parametrize("module, prompt, last", [(stealthrank, "own", 1), (stealthrank, "deployed", None), (raf, "deployed", None)])
def test_search_and_held_out_orders_are_the_lists_own_split(engine, task, settings, module, prompt, last):
    from geobench.orders import search_split

    chosen = settings(test_orders=2, stealthrank_orders=3, raf_orders=3, optimisation_prompt=prompt, objective="target", seed=5)
    made = optimise.problem(module, task(2), engine, chosen, vocabulary(engine), 0, {})
    held_out, orders = search_split("toy/kettles", 4, 2, 3, 5, last)
    assert made.held_out == held_out and len(made.scenes) == len(orders) == 3
    shown = [[item.name for item in sorted(task(2).list.items, key=lambda i: (s.before + s.after).find(i.name))] for s in made.scenes]
    assert shown == [[task(2).list.items[i].name for i in order] for order in orders]


def test_a_test_averages_the_objective_over_the_search_orders_and_the_rank_over_the_held_out(engine, task, settings):
    made = optimise.problem(sts, task(2), engine, settings(sts_orders=3, test_orders=2), vocabulary(engine), 0, {})
    one, two, three = (objectives.losses(made.model, here, [made.slot])[0] for here in made.scenes)
    asked = []

    class Ranks:
        def rank(self, jobs):
            for job in jobs:
                asked.append((job.orders, job.target, job.text))
                yield job, Ranking([[9, 4, 9, 9], [9, 1, 9, 9]])

    row = optimise._tested(made, Ranks(), {"suffix": "* *"}, made.slot)
    assert row["objective"] == pytest.approx((one + two + three) / 3) and len({one, two, three}) == 3
    assert (row["ranks"], row["mean_rank"]) == ([4, 1], 2.5)
    assert asked == [(tuple(made.held_out), 2, task(2).item.description + " * *")]
