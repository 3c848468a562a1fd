"""TAP, tree of attacks with pruning (Mehrotra et al. 2024) turned to ranking: an attacker refines snippets from the mean rank
they reach under m search orders, which are disjoint from the evaluation's. The best snippet found is kept, with its trace."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from geobench.attacks.base import Task, appended, seed_of, snippet, windows
from geobench.engines.decoding import Decoding
from geobench.orders import search_orders
from geobench.prompts import load_prompt, prompt_sha, render
from geobench.rankers.base import Job


@dataclass(frozen=True)
class Node:
    """One snippet: its mean rank over the search orders and where in the tree it stands (depth 0: a root)."""

    suffix: str
    mean_rank: float
    depth: int
    path: str


def identity(settings) -> dict:
    tree = {k: getattr(settings, f"tap_{k}") for k in ("roots", "branching", "width", "orders")} | {"expansions": settings.tap_depth}
    return {"prompt": prompt_sha("tap"), "seed": settings.seed, **tree, **_decoding(settings).identity()}


def _decoding(settings) -> Decoding:
    return Decoding(settings.tap_tokens, settings.tap_temperature, settings.tap_top_p)


def run(tasks, engine, ranker, settings) -> Iterator[tuple[Task, dict]]:
    """One edit per task; `ranker` answers the search. The trees of a window of tasks grow together, so that their prompts batch."""
    for group in windows(tasks, engine.batch_size):
        for task, (best, trace) in zip(group, search(group, engine, ranker, settings)):
            yield task, appended(task, best.suffix, search_mean_rank=best.mean_rank, trace=trace)


def search(tasks: list[Task], engine, ranker, settings) -> list[tuple[Node, list[dict]]]:
    """Per task: best node, and every node in the order tried. The roots (depth 0) are expanded `tap_depth` times; each level keeps the
    `width` best nodes; stops at mean rank 1."""
    frontiers: list[list] = [[None] * settings.tap_roots for _ in tasks]
    tried: list[list[Node]] = [[] for _ in tasks]
    for depth in range(settings.tap_depth + 1):
        going = [n for n, nodes in enumerate(tried) if not nodes or min(node.mean_rank for node in nodes) > 1]
        parents = [(n, p) for n in going for p in frontiers[n] for _ in range(settings.tap_branching if p else 1)]
        for n, level in _children(tasks, engine, ranker, settings, parents, depth).items():
            tried[n] += level
            frontiers[n] = sorted(level, key=lambda node: node.mean_rank)[: settings.tap_width]
    best = [min(nodes, key=lambda node: node.mean_rank) for nodes in tried]
    return [(b, [{"depth": n.depth, "path": n.path, "mean_rank": n.mean_rank, "suffix": n.suffix} for n in t]) for b, t in zip(best, tried)]


def _children(tasks, engine, ranker, settings, parents, depth) -> dict[int, list[Node]]:
    """Per task number: one child of each of its parents, written together and ranked list by list."""
    place = Counter()
    asked = []  # (task number, path, messages, seed)
    for n, parent in parents:
        place[n] += 1
        path = f"{parent.path}.{place[n]}" if parent else str(place[n])
        asked.append((n, path, _messages(tasks[n], parent), seed_of(settings.seed, "tap", *tasks[n].key(), path)))
    replies = engine.generate([a[2] for a in asked], _decoding(settings), [a[3] for a in asked], [tasks[a[0]].name for a in asked])
    suffixes = [snippet(reply.text) for reply in replies]
    jobs = []
    for (n, *_), suffix in zip(asked, suffixes):
        task = tasks[n]
        orders = tuple(map(tuple, search_orders(task.list.key, len(task.list), settings.tap_orders, settings.seed)))
        jobs.append(Job(task.list, orders, task.target, appended(task, suffix)["text"], "tap"))
    grown: dict[int, list[Node]] = {}
    for (n, path, *_), suffix, (_, ranking) in zip(asked, suffixes, ranker.rank(jobs)):
        ranks = [row[tasks[n].target - 1] for row in ranking.ranks]
        grown.setdefault(n, []).append(Node(suffix, sum(ranks) / len(ranks), depth, path))
    return grown


def _messages(task: Task, parent: Node | None) -> list[dict]:
    prompt = load_prompt("tap")
    others = "; ".join(item.name for item in task.list.items if item is not task.item)
    fields = dict(noun=task.list.noun, name=task.item.name, description=task.item.description, competitors=others)
    if parent:
        fields |= dict(suffix=parent.suffix, mean_rank=f"{parent.mean_rank:g}", count=len(task.list))
    user = render(prompt["refine" if parent else "root"], **fields)
    return [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": user}]
