"""TAP, tree of attacks with pruning (Mehrotra et al. 2024) turned to ranking: an attacker refines snippets from the mean rank
they reach under m search orders, which are disjoint from the evaluation's. The best snippet found is kept, with its trace."""

from collections.abc import Iterator
from dataclasses import dataclass

from geobench.attacks.base import Task, appended, seed_of, snippet
from geobench.engines.decoding import Decoding
from geobench.orders import search_orders
from geobench.prompts import load_prompt, prompt_sha, render
from geobench.rankers.base import Job


@dataclass(frozen=True)
class Node:
    """One snippet: its mean rank over the search orders and where in the tree it stands."""

    suffix: str
    mean_rank: float
    depth: int
    path: str


def identity(settings) -> dict:
    tree = {k: getattr(settings, f"tap_{k}") for k in ("roots", "branching", "width", "depth", "orders")}
    return {"prompt": prompt_sha("tap"), "seed": settings.seed, **tree, **_decoding(settings).identity()}


def _decoding(settings) -> Decoding:
    return Decoding(settings.tap_tokens, settings.tap_temperature, settings.tap_top_p)


def run(tasks, engine, ranker, settings) -> Iterator[tuple[Task, dict]]:
    """One edit per task; `ranker` answers the search."""
    for task in tasks:
        best, trace = search(task, engine, ranker, settings)
        yield task, appended(task, best.suffix, search_mean_rank=best.mean_rank, trace=trace)


def search(task: Task, engine, ranker, settings) -> tuple[Node, list[dict]]:
    """(best node, every node in the order tried). Each level keeps the `width` best nodes; stops at mean rank 1."""
    orders = tuple(map(tuple, search_orders(task.list.key, len(task.list), settings.tap_orders, settings.seed)))
    frontier: list[Node | None] = [None] * settings.tap_roots
    tried: list[Node] = []
    for depth in range(1, settings.tap_depth + 1):
        parents = [p for p in frontier for _ in range(settings.tap_branching if p else 1)]
        level = list(_children(task, engine, ranker, settings, parents, depth, orders))
        tried += level
        if min(node.mean_rank for node in tried) == 1:
            break
        frontier = sorted(level, key=lambda node: node.mean_rank)[: settings.tap_width]
    best = min(tried, key=lambda node: node.mean_rank)
    return best, [{"depth": n.depth, "path": n.path, "mean_rank": n.mean_rank, "suffix": n.suffix} for n in tried]


def _children(task, engine, ranker, settings, parents, depth, orders) -> Iterator[Node]:
    paths = [f"{p.path}.{n}" if p else str(n) for n, p in enumerate(parents, 1)]
    seeds = [seed_of(settings.seed, "tap", *task.key(), path) for path in paths]
    replies = engine.generate([_messages(task, p) for p in parents], _decoding(settings), seeds, [task.name] * len(parents))
    suffixes = [snippet(reply.text) for reply in replies]
    jobs = [Job(task.list, orders, task.target, appended(task, s)["text"], "tap") for s in suffixes]
    for suffix, path, (_, ranking) in zip(suffixes, paths, ranker.rank(jobs)):
        ranks = [row[task.target - 1] for row in ranking.ranks]
        yield Node(suffix, sum(ranks) / len(ranks), depth, path)


def _messages(task: Task, parent: Node | None) -> list[dict]:
    prompt = load_prompt("tap")
    others = "; ".join(item.name for item in task.list.items if item is not task.item)
    fields = dict(noun=task.list.noun, name=task.item.name, description=task.item.description, competitors=others)
    if parent:
        fields |= dict(suffix=parent.suffix, mean_rank=f"{parent.mean_rank:g}", count=len(task.list))
    user = render(prompt["refine" if parent else "root"], **fields)
    return [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": user}]
