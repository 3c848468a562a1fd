"""The dry run's counts against making every prompt and counting it."""

import itertools
import os

import pytest

from geobench import catalog, workload
from geobench.attacks.base import Task, appended
from geobench.detectors import judge
from geobench.lists import one_line
from geobench.orders import evaluation_orders
from geobench.params import load
from geobench.prompts import load_prompt, render
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker
from geobench.rankers.windows import spans

SMALL = {"datasets": ["kitchen"], "targets_per_list": 2, "orders": 4, "rankers": ["smollm2-135m:generate"],
         "main_ranker": "smollm2-135m:generate",
         "generate_variants": None, "generate_orders": None, "white_box": ["sts"], "black_box": ["zero_shot", "tap"],
         "rewrites": [], "controls": ["injection"], "sts_tokens": 10}  # fmt: skip


@pytest.fixture
def small():
    params = load("smoke", SMALL)
    return params, catalog.select(params.datasets, None, 2, 0)


def content(ranker, job, order) -> str:
    return "".join(m["content"] for m in ranker.messages(job, order))


def added(params, method: str, task: Task) -> str:
    """A suffix of the length that the method may write."""
    if method == "injection":
        return render(load_prompt("controls")["injection"], name=task.item.name, noun=task.list.noun)
    return "abc " * getattr(params, f"{method}_tokens")


def test_rankings_against_making_every_prompt(small):
    params, chosen = small
    ranker, calls, size, shared = GenerateRanker("g", None), 0, 0, 0
    for one in chosen:
        orders = [tuple(o) for o in evaluation_orders(one.list.key, len(one.list), params.orders, params.seed)]
        clean = {order: content(ranker, Job(one.list, (order,)), order) for order in orders}
        calls, size = calls + len(clean), size + sum(map(len, clean.values()))
        for target, method, order in itertools.product(one.targets, ("sts", "zero_shot", "tap", "injection"), orders):
            task = Task(one.list, target)
            text = appended(task, added(params, method, task))["text"]
            prompt = content(ranker, Job(one.list, (order,), target, text, method), order)
            calls, size, shared = calls + 1, size + len(prompt), shared + len(os.path.commonprefix([prompt, clean[order]]))
    work = workload.ranking(params, chosen, "smollm2-135m:generate")
    assert work.calls == calls == 4 * (len(chosen) + 4 * sum(len(s.targets) for s in chosen))
    assert work.tokens_in == pytest.approx(size / 4, rel=0.02)
    assert work.limit == calls * params.rank_tokens and 0 < work.tokens_out < work.limit
    # the target stands anywhere with equal chance, here in four orders; the common prefix also holds the target's own description
    assert work.repeated == pytest.approx(shared / 4, rel=0.05)


def test_pointwise_rankers_score_an_edited_item_alone(small):
    params, chosen = small
    targets = sum(len(s.targets) for s in chosen)
    work = workload.ranking(params, chosen, "smollm2-135m:cross_encoder")
    assert work.calls == len(chosen) + 4 * targets and work.tokens_out == work.limit == work.repeated == 0
    assert work.tokens_in < workload.ranking(params, chosen, "smollm2-135m:attention").tokens_in / 4


def test_tap_against_growing_every_tree(small):
    params, chosen = small
    level, nodes = params.tap_roots, params.tap_roots
    for _ in range(params.tap_depth - 1):
        level = min(params.tap_width, level) * params.tap_branching
        nodes += level
    tap, search = (w for w in workload.editing(params, chosen) if w.what.startswith("tap"))
    targets = sum(len(s.targets) for s in chosen)
    assert (tap.calls, search.calls) == (nodes * targets, nodes * targets * params.tap_orders)
    assert tap.limit == tap.calls * params.tap_tokens


def test_white_box_steps_by_hand(small):
    params, chosen = small
    sts, search = (w for w in workload.editing(params, chosen) if w.what.startswith("sts"))
    targets = sum(len(s.targets) for s in chosen)
    assert sts.calls == targets * params.sts_steps * (1 + params.sts_candidates)
    assert search.calls == targets * params.test_orders * (1 + 1)  # two steps, tested every two, and the start
    tails = 0
    for one, target in ((s, t) for s in chosen for t in s.targets):
        lines = workload.line_tokens(one.list)
        tails += 10 + (sum(lines) - lines[target - 1]) // 2 + workload.frame_tokens(one.list)[1]
    assert sts.tokens_in == tails * params.sts_steps * (3 + params.sts_candidates)


def test_judge_and_perplexity_against_every_text(small):
    params, chosen = small
    prompt, size, count = load_prompt("judge"), 0, 0
    for task in (Task(s.list, t) for s in chosen for t in s.targets):
        for method in (None, "sts", "zero_shot", "tap", "injection"):
            text = task.item.description + (" " + added(params, method, task) if method else "")
            size, count = size + len(prompt["system"] + render(prompt["user"], text=one_line(text))), count + 1
    judged, read = workload.detection(params, chosen)
    assert judged.calls == read.calls == count and judged.tokens_in == pytest.approx(size / 4, rel=0.05)
    assert judged.repeated == (judged.tokens_in - read.tokens_in) // count * (count - 1) and judge.YES


def test_orders_per_target_rank_the_clean_list_per_target(small):
    params, chosen = small
    own = load("smoke", SMALL | {"orders_mode": "released"})
    targets = sum(len(s.targets) for s in chosen)
    assert workload.ranking(own, chosen, "smollm2-135m:generate").calls == 4 * (targets + 4 * targets)


def test_windows_against_making_every_prompt(small):
    params, chosen = small
    params = load("smoke", SMALL | {"generate_window": 4, "generate_stride": 2})
    ranker, calls, size = GenerateRanker("g", None), 0, 0
    for one, order in ((s, tuple(range(len(s.list)))) for s in chosen):
        orders = [tuple(o) for o in evaluation_orders(one.list.key, len(one.list), params.orders, params.seed)]
        for order, (begin, end) in itertools.product(orders, spans(len(order), 4, 2)):
            calls, size = calls + 1, size + len(content(ranker, Job(one.list, (order,)), order[begin:end]))
    none = {"white_box": [], "black_box": [], "controls": []}
    work = workload.ranking(params.model_copy(update=none), chosen, "smollm2-135m:generate")
    assert work.calls == calls and work.limit == calls * params.rank_tokens
    assert work.tokens_in == pytest.approx(size / 4, rel=0.05)  # in windows that do not move, items are shown equally often
