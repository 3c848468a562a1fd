"""The work of making edits against counting it one by one, and against what a run of a tiny model does."""

import pytest

from geobench import catalog, edit_workload, workload
from geobench.kernels import candidates, readout
from geobench.params import load
from geobench.prompts import load_prompt

SMALL = {"datasets": ["kitchen"], "targets_per_list": 2, "white_box": ["sts"], "black_box": ["zero_shot", "tap"], "rewrites": [],
         "controls": ["injection"], "objective": "target", "white_box_start": "symbols", "sts_tokens": 10, "sts_steps": 2,
         "sts_candidates": 3, "sts_verify": None, "sts_merge": 0, "raf_steps": 2, "raf_top": 3, "raf_verify": None,
         "stealthrank_steps": 2, "stealthrank_rows": 2,
         "sts_orders": 2, "stealthrank_orders": 2, "test_every": 2, "test_orders": 1}  # fmt: skip


def small(**values):
    params = load("smoke", SMALL | values)
    return params, catalog.select(params.datasets, None, 2, 0)


def found(what: str, params, chosen) -> list:
    return [w for w in edit_workload.editing(params, chosen) if what in w.what]


def tails(chosen, size: int) -> int:
    """Tokens of slot and tail of all targets."""
    total = 0
    for one, target in ((s, t) for s in chosen for t in s.targets):
        lines = workload.line_tokens(one.list)
        total += size + (sum(lines) - lines[target - 1]) // 2 + workload.frame_tokens(one.list)[1]
        total += workload.tokens(f"1. {one.list.items[target - 1].name}")
    return total


def test_tap_against_growing_every_tree():
    params, chosen = small(tap_roots=3, tap_branching=2, tap_width=4, tap_depth=2)
    tap, search = found("tap", params, chosen)
    targets = sum(len(s.targets) for s in chosen)
    level, nodes = 3, 3
    for _ in range(2):
        level = min(4, level) * 2
        nodes += level
    assert nodes == 17 and (tap.calls, search.calls) == (17 * targets, 17 * targets * params.tap_orders)
    assert tap.tokens_out == tap.limit == tap.calls * params.tap_tokens
    prompt, told = load_prompt("tap"), 0
    for one, target in ((s, t) for s in chosen for t in s.targets):
        item = one.list.items[target - 1]
        told += workload.tokens(item.description + item.name) + workload.tokens("; ".join(i.name for i in one.list.items if i is not item))
    root, refine = (workload.fixed(prompt, "system", kind) for kind in ("root", "refine"))
    assert tap.tokens_in == 17 * told + targets * (3 * root + 14 * (refine + params.tap_tokens))
    assert search.repeated < search.tokens_in / 2 and search.tokens_out == 0
    generated = found("tap__smollm2-135m search", *small(tap_ranker="smollm2-135m:generate"))[0]
    assert generated.limit == generated.calls * 512 > generated.tokens_out > 0
    assert [w.what for w in found("tap", *small(tap_ranker="bm25"))] == ["tap__smollm2-135m"]


@pytest.mark.parametrize("roots, branching, width, depth", [(3, 3, 5, 5), (2, 1, 2, 2), (1, 2, 8, 7), (4, 2, 4, 9)])
def test_nodes_of_a_tree_level_by_level(roots, branching, width, depth):
    params = load("smoke", {"tap_roots": roots, "tap_branching": branching, "tap_width": width, "tap_depth": depth})
    level = nodes = roots
    for _ in range(depth):
        level = min(width, level) * branching
        nodes += level
    assert edit_workload.tap_nodes(params) == nodes


def test_tap_tries_the_published_number_of_snippets():
    assert edit_workload.tap_nodes(load("paper")) == 3 + 9 + 4 * 15 == 72  # and ranks each under two orders: 144


def test_texts_are_written_once_per_target():
    params, chosen = small(rewrites=["fluency"])
    tasks = [s.list.items[t - 1] for s in chosen for t in s.targets]
    described = sum(workload.tokens(item.description + item.name) for item in tasks)
    (snippet,), (rewrite,) = found("zero_shot", params, chosen), found("fluency", params, chosen)
    asked = workload.fixed(load_prompt("rewrites")["fluency"], "system", "user")
    assert (rewrite.notebook, rewrite.calls, rewrite.tokens_in) == ("04_rewrites", len(tasks), described + len(tasks) * asked)
    assert (snippet.notebook, snippet.tokens_out) == ("03_black_box", len(tasks) * params.zero_shot_tokens)
    assert rewrite.tokens_out == len(tasks) * params.rewrite_tokens and found("injection", params, chosen) == []


def test_white_box_steps_by_hand():
    params, chosen = small()
    sts, tested, search = found("sts", params, chosen)
    targets, tail = sum(len(s.targets) for s in chosen), tails(chosen, 10)
    assert sts.calls == targets * params.sts_steps * (1 + params.sts_candidates)  # gradient, candidates
    assert sts.tokens_in == tail * params.sts_steps * (3 + params.sts_candidates)
    assert search.calls == targets * params.test_orders * (1 + 1)  # two steps, tested every two, and the start
    clean = 0
    for one, target in ((s, t) for s in chosen for t in s.targets):
        lines = workload.line_tokens(one.list)
        clean += workload.frame_tokens(one.list)[0] + (sum(lines) - lines[target - 1]) // 2
    assert tested.calls == targets * 2 * params.sts_orders and tested.tokens_in == params.sts_orders * (2 * tail + clean)
    restarted = found("sts", *small(optimisation_seeds=3))
    assert restarted[0].calls == 3 * sts.calls and restarted[2].calls == 3 * search.calls
    assert found("sts", *small(sts_merge=5))[0].tokens_in == tail * params.sts_steps * (3 + params.sts_candidates + 2)  # of three at most


def test_other_methods_steps_by_hand():
    params, chosen = small(white_box=["raf", "stealthrank", "random_search"], raf_tokens=4, stealthrank_tokens=8, sts_tokens=6)
    (raf, *_), (stealth, objective, _), (random, *_) = (found(m, params, chosen) for m in ("raf", "stealthrank", "random_search"))
    targets = sum(len(s.targets) for s in chosen)
    assert (raf.calls, raf.tokens_in) == (targets * 2 * 4, tails(chosen, 4) * 2 * (3 + 3))  # two steps; a gradient and three candidates
    assert (stealth.calls, stealth.tokens_in) == (targets * 2 * 2, tails(chosen, 8) * 2 * 2 * 3)  # two steps of two rows, a gradient each
    assert objective.calls == targets * 2 * 2 * 2  # two tests of two rows under two orders
    assert (random.calls, random.tokens_in) == (targets * 2 * 4, tails(chosen, 6) * 2 * 4)  # three candidates and the incumbent


def test_screened_candidates_recompute_a_few_rows():
    assert edit_workload.SCREENED["target"] == candidates.FIRST + candidates.LOUDEST + candidates.LAST
    assert edit_workload.SCREENED["attention"] == readout.FIRST + readout.LOUDEST
    params, chosen = small(sts_candidates=100, sts_verify=8, raf_top=50, raf_verify=5, raf_tokens=10, white_box=["sts", "raf"])
    targets, tail = sum(len(s.targets) for s in chosen), tails(chosen, 10)
    asked = sum(
        workload.frame_tokens(s.list)[1] + workload.tokens(f"1. {s.list.items[t - 1].name}") for s in chosen for t in s.targets
    )  # fmt: skip
    sts, raf = found("sts", params, chosen)[0], found("raf", params, chosen)[0]
    assert sts.calls == targets * 2 * (1 + 100 + 8)  # two steps: gradient, screened candidates, the best eight
    assert sts.tokens_in == 2 * (tail * (3 + 8) + 100 * (targets * (10 + 30) + asked))
    assert raf.tokens_in == 2 * (tail * (3 + 5) + 50 * (targets * (10 + 30) + asked))
    assert found("sts", *small(sts_candidates=7, sts_verify=8))[0].calls == targets * 2 * (1 + 7 + 7)  # so few are all computed exactly


@pytest.mark.parametrize("objective", ["target", "attention"])
@pytest.mark.parametrize("method", ["sts", "random_search", "stealthrank"])
def test_steps_against_the_tokens_that_a_tiny_model_runs(method, objective, tiny_model, tmp_path, monkeypatch):
    """The attack really runs, and the kernel counts its tokens; an estimate's tokens are made the tiny tokenizer's."""
    from importlib import import_module

    from geobench.attacks import optimise
    from geobench.attacks.base import Task
    from geobench.rankers.pointwise import bm25

    engine = tiny_model("llama")
    own = {"sts": "sts", "random_search": "sts", "stealthrank": "stealthrank"}[method]
    budget = {f"{own}_steps": 11, f"{own}_orders": 11, f"{own}_tokens": 4, "test_every": 11}
    params, chosen = small(white_box=[method], objective=objective, **budget)
    chosen = [catalog.Selected(_short(chosen[0].list), (2,))]  # four items have twelve odd orders: eleven to search under, one held out
    for module in (workload, edit_workload):
        monkeypatch.setattr(module, "tokens", lambda text: len(engine.tokenizer(text, add_special_tokens=False)["input_ids"]))
    workload.line_tokens.cache_clear(), workload.frame_tokens.cache_clear()
    estimated = found(method, params, chosen)[0].tokens_in
    workload.line_tokens.cache_clear(), workload.frame_tokens.cache_clear()
    module, task = import_module(f"geobench.attacks.{method}"), Task(chosen[0].list, 2)
    ((_, edit),) = optimise.run(module, [task], engine, bm25("bm25"), params, tmp_path, {})
    ran = edit["tokens"]["forward"] + 2 * edit["tokens"]["backward"]
    assert ran == pytest.approx(estimated, rel=0.15)  # the chat template's own tokens are not counted


def _short(lst):
    from dataclasses import replace

    return replace(lst, items=tuple(replace(item, description=item.description[:40]) for item in lst.items[:4]))
