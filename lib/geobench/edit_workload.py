"""How much work making the edits is (notebooks 02 to 04), counted as geobench.workload counts.

A white-box step's tokens are those after the clean prefix, with the wanted reply or the read-out's queries, for a target that is equally
likely at every place; a backward pass counts as two forward ones. Layers that a read-out leaves out are not subtracted.
"""

import math

from geobench.attacks import METHODS, entries, family, named, with_knowledge
from geobench.attacks.base import Task
from geobench.prompts import load_prompt, render
from geobench.rankers import parse_name
from geobench.workload import Once, Work, fixed, frame_tokens, line_tokens, tokens

STEP = 3  # forward and backward
# rows of the tail that a screened candidate recomputes, by objective (FIRST + LOUDEST + LAST of kernels.candidates, of kernels.readout)
SCREENED = {"target": 30, "attention": 16}


def tap_nodes(params) -> int:
    """The most nodes of one tree."""
    level = nodes = params.tap_roots
    for depth in range(1, params.tap_depth + 1):
        kept = min(params.tap_width, level)
        level = kept * params.tap_branching
        nodes += level
        if min(params.tap_width, level) == kept:  # every further level is like this one
            return nodes + (params.tap_depth - depth) * level
    return nodes


def editing(params, chosen) -> list[Work]:
    """Generations, searches and optimisation steps of every variant."""
    tasks = [Task(one.list, t) for one in chosen for t in one.targets]
    found = []
    for variant, method, model in (named(params, entry) for entry in entries(params)):
        if METHODS[method] == "white_box":
            found += _optimised(with_knowledge(params, variant), tasks, variant, method, model)
        elif method == "tap":
            found += _trees(params, tasks, variant, model)
        elif METHODS[method] != "controls":
            found.append(_written(params, tasks, variant, method, model))
    return found


def _written(params, tasks, variant: str, method: str, model: str) -> Work:
    """One text per target."""
    rewrites = METHODS[method] == "rewrites"
    prompt = load_prompt("rewrites")[method] if rewrites else load_prompt(method)
    limit = params.rewrite_tokens if rewrites else getattr(params, f"{method}_tokens")
    work = Work("04_rewrites" if rewrites else "03_black_box", model, variant)
    for task in tasks:
        work.add(1, fixed(prompt, "system", "user") + tokens(task.item.description + task.item.name), limit)
    return work


def _trees(params, tasks, variant: str, model: str) -> list[Work]:
    """TAP's full trees: a snippet per node, ranked under every search order."""
    p, prompt, nodes = params, load_prompt("tap"), tap_nodes(params)
    work = Work("03_black_box", model, variant)
    for task in tasks:
        told = tokens(task.item.description + task.item.name) + tokens("; ".join(i.name for i in task.list.items if i is not task.item))
        work.add(p.tap_roots, fixed(prompt, "system", "root") + told, p.tap_tokens)
        work.add(nodes - p.tap_roots, fixed(prompt, "system", "refine") + told + p.tap_tokens, p.tap_tokens)
    return [work, *_searched(tasks, work.notebook, p.tap_ranker, variant, nodes * p.tap_orders, p.tap_tokens)]


def _searched(tasks, notebook: str, ranker: str, variant: str, count: int, more: int) -> list[Work]:
    """`count` rankings per target while a method searches; nothing for `bm25`."""
    model, read_out = parse_name(ranker)
    if model is None:
        return []
    work = Work(notebook, model, f"{variant} search")
    for task in tasks:
        Once(task.list, model, read_out).edited(work, count, task.target, more)
    return [work]


def _optimised(params, tasks, variant: str, method: str, model: str) -> list[Work]:
    """Steps of a white-box method, the objective's mean at each test (with the clean prefixes), and its tests on held-out orders."""
    steps, orders, size = (getattr(params, f"{family(method)}_{name}") for name in ("steps", "orders", "tokens"))
    rows = params.stealthrank_rows if method == "stealthrank" else 1
    tests = (math.ceil(steps / params.test_every) + 1) * params.optimisation_seeds * rows
    work, tested = Work("02_white_box", model, variant), Work("02_white_box", model, f"objective of {variant}")
    for task in tasks:
        lines, (before, after) = line_tokens(task.list), frame_tokens(task.list)
        half = (sum(lines) - lines[task.target - 1]) // 2
        asked = _queries(task.list.noun) if params.objective == "attention" else after + tokens(f"1. {task.item.name}")
        tail = half + asked
        calls, read = _step(params, method, size, half, asked)
        work.calls += steps * params.optimisation_seeds * calls
        work.tokens_in += steps * params.optimisation_seeds * read
        tested.add(tests * orders, size + tail)
        tested.tokens_in += orders * (before + half)
    return [work, tested, *_searched(tasks, work.notebook, params.optimisation_ranker, variant, tests * params.test_orders, size)]


def _queries(noun: str) -> int:
    """Tokens of the read-out's two queries."""
    prompt = load_prompt("ranking")
    return tokens("\n" + render(prompt["query"], noun=noun)) + tokens("\n" + prompt["neutral_query"])


def _step(params, method: str, size: int, rest: int, asked: int) -> tuple[int, int]:
    """(calls, tokens) of one step over a slot of `size` tokens, `rest` tokens of the prompt after it, and what is `asked` at its end."""
    whole = size + rest + asked
    if method == "stealthrank":
        return params.stealthrank_rows, params.stealthrank_rows * STEP * whole
    screen = size + min(SCREENED[params.objective], rest) + asked
    if method == "raf":
        return _tried(params.raf_top, params.raf_verify, STEP, whole, screen)
    merged = max(0, min(params.sts_merge, params.sts_candidates) - 1)
    first = 1 if method == "random_search" else STEP
    return _tried(params.sts_candidates + merged, params.sts_verify, first, whole, screen)


def _tried(count: int, verify: int | None, first: int, whole: int, screen: int) -> tuple[int, int]:
    """(calls, tokens) of the incumbent, which is `first` times the whole, and of `count` candidates, of which `verify` are exact."""
    if verify is None:
        return 1 + count, (first + count) * whole
    exact = min(verify, count)
    return 1 + count + exact, (first + exact) * whole + count * screen
