"""How much work a plan is, counted without loading a model: calls and tokens per notebook and model.

Tokens are characters / 4. What a model will write is not known: snippets and rewrites count at their limit, rankings at the length
of their names. An edited item is longer by its suffix, or as long as the rewriter's limit. A white-box step's tokens are those after
the clean prefix, for a target that is equally likely at every place; a backward pass counts as two forward ones.
"""

import math
from dataclasses import dataclass
from functools import cache

from geobench.attacks import METHODS, entries, family, named
from geobench.attacks.base import Task
from geobench.prompts import load_prompt, render
from geobench.rankers import parse_name
from geobench.rankers.windows import spans

CHARACTERS = 4
PASSES = {"sts": 3, "raf": 3}  # of the incumbent: forward and backward


@dataclass
class Work:
    """Calls of one model in one notebook. repeated: input tokens that follow an equal prefix; limit: most tokens out; free: input tokens
    that are computed once for many calls, and so cost no time."""

    notebook: str
    model: str
    what: str
    calls: int
    tokens_in: int
    tokens_out: int = 0
    repeated: int = 0
    limit: int = 0
    free: int = 0


def tokens(text: str) -> int:
    """Estimated tokens of a text."""
    return math.ceil(len(text) / CHARACTERS)


@cache
def line_tokens(lst) -> list[int]:
    """Tokens of each item's line in the ranking prompt."""
    line = load_prompt("ranking")["item_line"]
    shown = [render(line, index=n, name=item.name, description=" ".join(item.description.split())) for n, item in enumerate(lst.items, 1)]
    return [tokens(text + "\n") for text in shown]


@cache
def frame_tokens(lst) -> tuple[int, int]:
    """Tokens of the ranking prompt before and after the lines."""
    prompt = load_prompt("ranking")
    return tokens(prompt["system"] + prompt["items_header"]), tokens(
        render(prompt["query"], noun=lst.noun) + render(prompt["instruction"], count=len(lst))
    )


def longer(params, method: str, task: Task) -> int:
    """Tokens that an edit adds to the target's line at most."""
    if METHODS.get(method) == "rewrites":
        kept = tokens(task.item.description) if method == "llm_guidance" else 0
        return max(0, params.rewrite_tokens + kept - tokens(task.item.description))
    if METHODS.get(method) == "controls" or method == "external":
        return tokens(render(load_prompt("controls")["injection"], name=task.item.name, noun=task.list.noun))
    return getattr(params, f"{family(method)}_tokens")


def ranked_methods(params, ranker: str) -> list[str]:
    """The method of every variant that a ranker ranks."""
    made = [named(params, entry)[:2] for entry in entries(params)] + [("external", "external")] * len(params.external_edits)
    only = params.generate_variants if parse_name(ranker)[1] == "generate" else None
    return [method for variant, method in made if only is None or variant in only]


def orders_of(params, ranker: str) -> int:
    """Evaluation orders of a ranker."""
    read_out = parse_name(ranker)[1]
    if read_out in ("cross_encoder", "bi_encoder", "bm25"):
        return 1
    return (params.generate_orders or params.orders) if read_out == "generate" else params.orders


def ranking(params, chosen, ranker: str, methods: list[str] | None = None) -> Work:
    """Clean lists once per order, every edit (of a target and method) under the same; pointwise rankers score edited items alone."""
    model, read_out = parse_name(ranker)
    count, work = orders_of(params, ranker), Work("05_ranking", model or "bm25", ranker, 0, 0)
    methods = ranked_methods(params, ranker) if methods is None else methods
    own = params.orders_mode == "released" and read_out in ("generate", "attention")
    for one in chosen:
        lines, (before, after), size = line_tokens(one.list), frame_tokens(one.list), len(one.list)
        reply = sum(tokens(f"{n}. {item.name}\n") for n, item in enumerate(one.list.items, 1)) if read_out == "generate" else 0
        windows, share = _windows(params, read_out, size)
        whole, clean = windows * (before + after) + math.ceil(share * sum(lines)), count * (len(one.targets) if own else 1)
        reply, most = min(math.ceil(share * reply), windows * params.rank_tokens), windows * params.rank_tokens
        work.calls, work.tokens_in = work.calls + clean * windows, work.tokens_in + clean * whole
        work.tokens_out, work.limit = work.tokens_out + clean * reply, work.limit + clean * most
        for task in (Task(one.list, t) for t in one.targets):
            for method in methods:
                more = longer(params, method, task)
                alone = read_out in ("cross_encoder", "bi_encoder")
                each = lines[task.target - 1] + more if alone else whole + math.ceil(share * more)
                work.calls, work.tokens_in = work.calls + count * windows, work.tokens_in + count * each
                work.tokens_out, work.limit = work.tokens_out + count * reply, work.limit + count * most
                work.repeated += 0 if alone or windows > 1 else count * (before + (sum(lines) - lines[task.target - 1]) // 2) * (size > 1)
    work.limit = work.limit if read_out == "generate" else 0
    work.free = work.repeated if read_out == "attention" else 0
    return work


def _windows(params, read_out: str, size: int) -> tuple[int, float]:
    """(prompts that one ranking takes, how often an item is shown on average); more than one only for `generate` with windows."""
    if read_out != "generate" or not params.generate_window:
        return 1, 1.0
    found = spans(size, params.generate_window, params.generate_stride)
    return len(found), sum(end - begin for begin, end in found) / size


def tap_nodes(params) -> int:
    """The most nodes of one tree."""
    level = nodes = params.tap_roots
    for depth in range(1, params.tap_depth):
        kept = min(params.tap_width, level)
        level = kept * params.tap_branching
        nodes += level
        if min(params.tap_width, level) == kept:  # every further level is like this one
            return nodes + (params.tap_depth - 1 - depth) * level
    return nodes


def editing(params, chosen) -> list[Work]:
    """Generations, searches and optimisation steps of every variant."""
    tasks = [Task(one.list, t) for one in chosen for t in one.targets]
    return [work for entry in entries(params) for work in _edits(params, tasks, *named(params, entry))]


def _edits(params, tasks, variant: str, method: str, model: str | None) -> list[Work]:
    group = METHODS[method]
    if group == "white_box":
        return _optimised(params, tasks, variant, method, model)
    if group == "controls":
        return []
    rewrites = group == "rewrites"
    notebook, limit = ("04_rewrites", params.rewrite_tokens) if rewrites else ("03_black_box", getattr(params, f"{method}_tokens"))
    nodes = tap_nodes(params) if method == "tap" else 1
    fixed = load_prompt("rewrites")[method] if rewrites else load_prompt(method)
    asked = tokens("".join(str(v) for k, v in fixed.items() if k in ("system", "user", "refine")))
    each = [asked + tokens(t.item.description + t.item.name) for t in tasks]
    calls = nodes * len(tasks)
    made = [Work(notebook, model, variant, calls, nodes * sum(each), calls * limit, 0, calls * limit)]
    if method == "tap":
        made.append(_search(params, tasks, notebook, params.tap_ranker, variant, nodes * params.tap_orders, limit))
    return made


def _search(params, tasks, notebook, ranker, variant, count: int, more: int) -> Work:
    """`count` rankings per target while a method searches."""
    model, read_out = parse_name(ranker)
    work = Work(notebook, model or "bm25", f"{variant} search", count * len(tasks), 0)
    for task in tasks:
        lines, (before, after) = line_tokens(task.list), frame_tokens(task.list)
        work.tokens_in += count * (before + sum(lines) + after + more)
        work.repeated += count * (before + (sum(lines) - lines[task.target - 1]) // 2)
        if read_out == "generate":
            work.tokens_out += count * sum(tokens(f"{n}. {item.name}\n") for n, item in enumerate(task.list.items, 1))
            work.limit += count * 512
    work.free = work.repeated if read_out == "attention" else 0
    return work


def _optimised(params, tasks, variant, method, model) -> list[Work]:
    """Steps of a white-box method, the objective's mean at each test (with the clean prefixes), and its tests on held-out orders."""
    steps, orders, size = (getattr(params, f"{family(method)}_{name}") for name in ("steps", "orders", "tokens"))
    rows = params.stealthrank_rows if method == "stealthrank" else 1
    tests = (math.ceil(steps / params.test_every) + 1) * params.optimisation_seeds * rows
    steps *= params.optimisation_seeds
    tried = {"sts": params.sts_candidates, "random_search": params.sts_candidates + 1, "raf": params.raf_top}.get(method, 0)
    work = Work("02_white_box", model, variant, steps * len(tasks) * (rows if method == "stealthrank" else 1 + tried), 0)
    tested = Work("02_white_box", model, f"objective of {variant}", len(tasks) * tests * orders, 0)
    for task in tasks:
        lines, (before, after) = line_tokens(task.list), frame_tokens(task.list)
        half = (sum(lines) - lines[task.target - 1]) // 2
        work.tokens_in += steps * (size + half + after) * (3 * rows if method == "stealthrank" else PASSES.get(method, 0) + tried)
        tested.tokens_in += orders * (tests * (size + half + after) + before + half)
    return [work, tested, _search(params, tasks, "02_white_box", params.optimisation_ranker, variant, tests * params.test_orders, size)]


def detection(params, chosen) -> list[Work]:
    """Judge and perplexity of every original and every edit."""
    prompt = load_prompt("judge")
    fixed = tokens(prompt["system"] + prompt["user"])
    tasks = [Task(one.list, t) for one in chosen for t in one.targets]
    methods = [named(params, entry)[1] for entry in entries(params)] + ["external"] * len(params.external_edits)
    texts = [tokens(t.item.description) + more for t in tasks for more in (0, *(longer(params, m, t) for m in methods))]
    count = len(texts)
    judged = Work("06_detection", params.judge, "judge", count, sum(texts) + fixed * count, count, fixed * (count - 1), count)
    judged.free = judged.repeated
    read = [min(n, params.perplexity_limit) for n in texts]
    return [judged, Work("06_detection", params.reference_model, "perplexity", len(texts), sum(read))]
