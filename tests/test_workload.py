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
    (work,) = workload.ranking(params, chosen, "smollm2-135m:generate")
    assert calls == workload.rankings(params, chosen, "smollm2-135m:generate")
    assert work.calls == calls == 4 * (len(chosen) + 4 * sum(len(s.targets) for s in chosen))
    assert work.tokens_in == pytest.approx(size / 4, rel=0.02)
    assert work.limit == calls * params.rank_tokens and 0 < work.tokens_out < work.limit
    # the target stands anywhere with equal chance, here in four orders; the common prefix also holds the target's own description
    assert work.repeated == pytest.approx(shared / 4, rel=0.05)


def test_pointwise_rankers_score_an_edited_item_alone(small):
    """Against scoring every passage: a clean list's all, of an edited list the edited one."""
    params, chosen = small
    prompt, calls, size = load_prompt("relevance"), 0, 0
    for one in chosen:
        query = render(load_prompt("ranking")["query"], noun=one.list.noun)
        texts = [f"{item.name}: {item.description}" for item in one.list.items]
        for target, method in itertools.product(one.targets, ("sts", "zero_shot", "tap", "injection")):
            texts.append(texts[target - 1] + " " + added(params, method, Task(one.list, target)))
        calls += len(texts)
        size += sum(len(prompt["system"] + render(prompt["user"], query=query, text=text)) for text in texts)
    (work,) = workload.ranking(params, chosen, "smollm2-135m:cross_encoder")
    assert work.calls == calls and work.tokens_out == work.limit == 0
    assert work.tokens_in == pytest.approx(size / 4, rel=0.05)
    asked = workload.fixed(prompt, "system", "user") + workload.tokens(render(load_prompt("ranking")["query"], noun="coffee grinder"))
    assert work.repeated == pytest.approx((calls - len(chosen)) * asked, rel=0.02)  # all but a list's first begin alike
    (encoder,) = workload.ranking(params, chosen, "minilm:bi_encoder")
    assert encoder.calls == calls and encoder.repeated == 0 and encoder.tokens_in < work.tokens_in - 30 * calls
    assert workload.ranking(params, chosen, "bm25") == [] and workload.rankings(params, chosen, "bm25") == len(chosen) * (1 + 4 * 2)


def test_external_edits_are_variants_of_their_files(small):
    params, chosen = small
    own = params.model_copy(update={"external_edits": ["a/mine.csv"], "generate_variants": ["external__mine", "sts__smollm2-135m"]})
    assert workload.variants(own)[-1] == ("external__mine", "external")
    assert workload.ranked_methods(own, "smollm2-135m:generate") == ["sts", "external"]
    assert len(workload.ranked_methods(own, "bm25")) == 5


def test_judge_and_perplexity_against_every_text(small):
    params, chosen = small
    prompt, size, count = load_prompt("judge"), 0, 0
    for task in (Task(s.list, t) for s in chosen for t in s.targets):
        for method in (None, "sts", "zero_shot", "tap", "injection"):
            text = task.item.description + (" " + added(params, method, task) if method else "")
            size, count = size + len(prompt["system"] + render(prompt["user"], text=one_line(text))), count + 1
    judged, read, trained = workload.detection(params, chosen)
    assert judged.calls == read.calls == trained.calls == count and judged.tokens_in == pytest.approx(size / 4, rel=0.05)
    fixed = (judged.tokens_in - read.tokens_in) // count  # no text is cut here
    assert judged.repeated == fixed * (count - 1) and judged.tokens_out == count and trained.tokens_in == read.tokens_in
    short = workload.detection(params.model_copy(update={"perplexity_limit": 10}), chosen)[1]
    assert short.tokens_in == 10 * count and judge.YES


def test_orders_per_target_rank_the_clean_list_per_target(small):
    params, chosen = small
    own = load("smoke", SMALL | {"orders_mode": "released"})
    targets = sum(len(s.targets) for s in chosen)
    (work,) = workload.ranking(own, chosen, "smollm2-135m:generate")
    assert work.calls == workload.rankings(own, chosen, "smollm2-135m:generate") == 4 * (targets + 4 * targets)
    assert workload.rankings(own, chosen, "minilm:bi_encoder") == len(chosen) + 4 * targets  # no order to draw


def test_windows_against_making_every_prompt(small):
    params, chosen = small
    params = load("smoke", SMALL | {"generate_window": 4, "generate_stride": 2})
    ranker, calls, size = GenerateRanker("g", None), 0, 0
    for one, order in ((s, tuple(range(len(s.list)))) for s in chosen):
        orders = [tuple(o) for o in evaluation_orders(one.list.key, len(one.list), params.orders, params.seed)]
        for order, (begin, end) in itertools.product(orders, spans(len(order), 4, 2)):
            calls, size = calls + 1, size + len(content(ranker, Job(one.list, (order,)), order[begin:end]))
    none = {"white_box": [], "black_box": [], "controls": []}
    (work,) = workload.ranking(params.model_copy(update=none), chosen, "smollm2-135m:generate")
    assert workload.rankings(params.model_copy(update=none), chosen, "smollm2-135m:generate") == 4 * len(chosen) < calls
    assert work.calls == calls and work.limit == calls * params.rank_tokens
    assert work.tokens_in == pytest.approx(size / 4, rel=0.05)  # in windows that do not move, items are shown equally often
    (edited,) = workload.ranking(params, chosen, "smollm2-135m:generate")
    assert edited.repeated == 0 and edited.calls == calls + 4 * sum(len(s.targets) * 4 * len(spans(len(s.list), 4, 2)) for s in chosen)


def test_a_ranking_by_hand():
    """Two items of 8 and 12 tokens, 5 before and 7 after them; the prompt is equal up to half of the other line."""
    once = workload.Once.__new__(workload.Once)
    once.lines, once.before, once.after, once.alone, once.asked = [8, 12], 5, 7, False, 0
    once.prompts, once.share, once.whole, once.reply, once.limit = 1, 1.0, 32, 6, 50
    work = workload.Work("05_ranking", "m", "m:generate")
    once.clean(work, 3)
    assert (work.calls, work.tokens_in, work.tokens_out, work.repeated, work.limit) == (3, 96, 18, 0, 150)
    once.edited(work, 2, 1, 4)
    assert (work.calls, work.tokens_in, work.tokens_out, work.repeated, work.limit) == (5, 96 + 2 * 36, 30, 2 * (5 + 6), 250)


def test_a_pointwise_ranking_by_hand():
    """Two items of 8 and 12 tokens, each after a query of 5 that a causal model reads once."""
    once = workload.Once.__new__(workload.Once)
    once.lines, once.before, once.alone, once.asked = [8, 12], 5, True, 5
    once.prompts, once.whole, once.reply, once.limit = 2, 30, 0, 0
    work = workload.Work("05_ranking", "m", "m:cross_encoder")
    once.clean(work, 1)
    assert (work.calls, work.tokens_in, work.repeated) == (2, 30, 5)
    once.edited(work, 3, 2, 4)
    assert (work.calls, work.tokens_in, work.repeated, work.limit) == (5, 30 + 3 * 21, 5 + 15, 0)


def test_replies_are_as_long_as_their_names_within_the_limit(small):
    _, chosen = small
    lst = chosen[0].list
    names = sum(workload.tokens(f"{n}. {item.name}\n") for n, item in enumerate(lst.items, 1))
    assert workload.line_tokens(lst)[0] == workload.tokens(
        render(load_prompt("ranking")["item_line"], index=1, name=lst.items[0].name, description=one_line(lst.items[0].description)) + "\n"
    )
    once = [workload.Once(lst, "smollm2-135m", "generate", limit) for limit in (500, 7)]
    assert [(o.reply, o.limit) for o in once] == [(names, 500), (7, 7)]
    windowed = workload.Once(lst, "smollm2-135m", "generate", 500, 4, 2)
    found = spans(len(lst), 4, 2)
    assert windowed.limit == 500 * len(found) and windowed.reply == -(-names * sum(e - b for b, e in found) // len(lst)) > names
    assert workload.Once(lst, "smollm2-135m", "attention").reply == 0


def test_an_edit_s_length_by_hand(small):
    params, chosen = small
    params, task = params.model_copy(update={"rewrite_tokens": 90}), Task(chosen[0].list, 1)
    own, planted = workload.tokens(task.item.description), workload.tokens(added(params, "injection", task))
    assert 0 < own < 90 and workload.longer(params, "fluency", task) == 90 - own and workload.longer(params, "llm_guidance", task) == 90
    assert workload.longer(params.model_copy(update={"rewrite_tokens": 1}), "fluency", task) == 0
    assert workload.longer(params, "injection", task) == workload.longer(params, "external", task) == planted
    assert [workload.longer(params, m, task) for m in ("sts", "random_search", "tap")] == [10, 10, params.tap_tokens]
    _, read, _ = workload.detection(params.model_copy(update={"white_box": [], "black_box": [], "controls": ["injection"]}), chosen[:1])
    tasks = [Task(chosen[0].list, t) for t in chosen[0].targets]
    described = [workload.tokens(t.item.description) for t in tasks]
    assert read.tokens_in == 2 * sum(described) + sum(workload.tokens(added(params, "injection", t)) for t in tasks)
