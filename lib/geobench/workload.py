"""How much work a plan is, counted without loading a model: calls and tokens per notebook and model.

Tokens are characters / 4. What a model will write is not known: snippets and rewrites count at their limit, rankings at the length
of their names. An edited item is longer by its suffix, or as long as the rewriter's limit. What follows an equal beginning is `repeated`:
for a target that is equally likely at every place, half of the other lines.
"""

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from geobench.attacks import METHODS, entries, family, named
from geobench.attacks.base import Task
from geobench.models import spec
from geobench.prompts import load_prompt, render
from geobench.rankers import parse_name
from geobench.rankers.windows import spans

CHARACTERS = 4
POINTWISE = ("cross_encoder", "bi_encoder", "bm25")


@dataclass
class Work:
    """Calls of one model in one notebook. repeated: input tokens that follow an equal prefix, which local engines compute once, so that
    they cost no time (but money, where a server bills them); limit: most tokens out."""

    notebook: str
    model: str
    what: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    repeated: int = 0
    limit: int = 0

    def add(self, calls: int, tokens_in: int, tokens_out: int = 0, repeated: int = 0, limit: int = 0) -> None:
        """Add `calls` of so many tokens each."""
        self.calls += calls
        self.tokens_in += calls * tokens_in
        self.tokens_out += calls * tokens_out
        self.repeated += calls * repeated
        self.limit += calls * max(tokens_out, limit)


def tokens(text: str) -> int:
    """Estimated tokens of a text."""
    return math.ceil(len(text) / CHARACTERS)


def fixed(prompt: dict, *keys: str) -> int:
    """Estimated tokens of these texts of a prompt."""
    return tokens("".join(prompt.get(key) or "" for key in keys))


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


class Once:
    """What ranking a list under one order takes: `prompts` that read `whole` tokens together, and replies of `reply` tokens, at most
    `limit`. Pointwise read-outs ask about one item at a time, and of an edited list about the edited item alone."""

    def __init__(self, lst, model: str, read_out: str, limit: int = 512, window: int | None = None, stride: int | None = None):
        self.lines, (self.before, self.after), size = line_tokens(lst), frame_tokens(lst), len(lst)
        self.alone = read_out in POINTWISE
        found = spans(size, window, stride) if window and read_out == "generate" else [(0, size)]
        self.prompts, self.share = len(found), sum(end - begin for begin, end in found) / size
        self.whole = self.prompts * (self.before + self.after) + math.ceil(self.share * sum(self.lines))
        self.asked = 0
        if self.alone:  # the query with each item; a causal model is asked in words, the same before each item
            asked = fixed(load_prompt("relevance"), "system", "user") if spec(model).kind == "causal_lm" else 0
            self.prompts, self.before = size, asked + tokens(render(load_prompt("ranking")["query"], noun=lst.noun))
            self.whole, self.asked = size * self.before + sum(self.lines), self.before if asked else 0
        self.limit = self.prompts * limit if read_out == "generate" else 0
        names = sum(tokens(f"{n}. {item.name}\n") for n, item in enumerate(lst.items, 1))
        self.reply = min(math.ceil(self.share * names), self.limit)

    def clean(self, work: Work, times: int) -> None:
        """Add so many rankings of the clean list."""
        work.add(times, self.whole, self.reply, (self.prompts - 1) * self.asked, self.limit)
        work.calls += times * (self.prompts - 1)

    def edited(self, work: Work, times: int, target: int, more: int) -> None:
        """Add so many rankings with `more` tokens at the target's line."""
        if self.alone:
            work.add(times, self.before + self.lines[target - 1] + more, repeated=self.asked)
            return
        half = (sum(self.lines) - self.lines[target - 1]) // 2
        same = self.before + half if self.prompts == 1 and len(self.lines) > 1 else 0
        work.add(times, self.whole + math.ceil(self.share * more), self.reply, same, self.limit)
        work.calls += times * (self.prompts - 1)


def longer(params, method: str, task: Task) -> int:
    """Tokens that an edit adds to the target's line at most."""
    if METHODS.get(method) == "rewrites":
        kept = tokens(task.item.description) if method == "llm_guidance" else 0
        return max(0, params.rewrite_tokens + kept - tokens(task.item.description))
    if METHODS.get(method) == "controls" or method == "external":
        return tokens(render(load_prompt("controls")["injection"], name=task.item.name, noun=task.list.noun))
    return getattr(params, f"{family(method)}_tokens")


def variants(params) -> list[tuple[str, str]]:
    """(variant, method) of everything that is ranked; edits from a file are of the method `external`."""
    own = [("external__" + Path(file).stem, "external") for file in params.external_edits]
    return [named(params, entry)[:2] for entry in entries(params)] + own


def ranked_methods(params, ranker: str) -> list[str]:
    """The method of every variant that a ranker ranks."""
    only = params.generate_variants if parse_name(ranker)[1] == "generate" else None
    return [method for variant, method in variants(params) if only is None or variant in only]


def orders_of(params, ranker: str) -> int:
    """Evaluation orders of a ranker."""
    read_out = parse_name(ranker)[1]
    if read_out in POINTWISE:
        return 1
    return (params.generate_orders or params.orders) if read_out == "generate" else params.orders


def clean_rankings(params, one, ranker: str) -> int:
    """How often a clean list is ranked: once per order, and per target where orders are drawn per target."""
    own = params.orders_mode == "released" and parse_name(ranker)[1] not in POINTWISE
    return orders_of(params, ranker) * (len(one.targets) if own else 1)


def rankings(params, chosen, ranker: str) -> int:
    """How many rankings a ranker makes, clean and edited ones."""
    edited = orders_of(params, ranker) * len(ranked_methods(params, ranker)) * sum(len(one.targets) for one in chosen)
    return sum(clean_rankings(params, one, ranker) for one in chosen) + edited


def ranking(params, chosen, ranker: str, methods: list[str] | None = None) -> list[Work]:
    """Clean lists once per order, every edit (of a target and method) under the same; nothing for `bm25`, which is no model."""
    p, (model, read_out) = params, parse_name(ranker)
    if model is None:
        return []
    work, methods = Work("05_ranking", model, ranker), ranked_methods(p, ranker) if methods is None else methods
    for one in chosen:
        once = Once(one.list, model, read_out, p.rank_tokens, p.generate_window, p.generate_stride)
        once.clean(work, clean_rankings(p, one, ranker))
        for task in (Task(one.list, t) for t in one.targets):
            for method in methods:
                once.edited(work, orders_of(p, ranker), task.target, longer(p, method, task))
    return [work]


def yes_or_no(notebook: str, model: str, what: str, prompt: dict, sizes: list[int]) -> Work:
    """One yes or no about each text; all prompts begin alike."""
    asked, work = fixed(prompt, "system", "user"), Work(notebook, model, what)
    for size in sizes:
        work.add(1, asked + size, 1, asked if work.calls else 0)
    return work


def detection(params, chosen) -> list[Work]:
    """Judge and perplexity of every original and every edit, and the embeddings of the trained detector."""
    p, tasks = params, [Task(one.list, t) for one in chosen for t in one.targets]
    texts = [tokens(t.item.description) + more for t in tasks for more in (0, *(longer(p, m, t) for _, m in variants(p)))]
    read = sum(min(size, p.perplexity_limit) for size in texts)
    return [
        yes_or_no("06_detection", p.judge, "judge", load_prompt("judge"), texts),
        Work("06_detection", p.reference_model, "perplexity", len(texts), read),
        Work("06_detection", p.detector, "trained detector", len(texts), sum(texts)),
    ]
