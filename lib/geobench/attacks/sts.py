"""STS, strategic text sequences (Kumar & Lakkaraju 2024): a greedy coordinate gradient search (Zou et al. 2023) for a suffix after
which the objective is met, by default that the reply starts with "1. {Name}".

Departures from the published search: the incumbent stays a candidate unless `sts_incumbent` is false, and only suffixes whose text
encodes back to the same tokens in place, under every search order, are tried. With `sts_verify` candidates are screened with stale
keys and values first and only the best few are computed exactly.
"""

import random

from geobench.attacks import objectives, scene
from geobench.attacks.optimise import Problem

METHOD = "sts"
NAMES = ("tokens", "steps", "candidates", "top_k", "orders", "incumbent", "verify")


def start(problem: Problem) -> dict:
    return {"slot": problem.slot}


def slots(problem: Problem, state: dict) -> list[list[int]]:
    return [state["slot"]]


def step(problem: Problem, state: dict, number: int) -> list[float]:
    """One gradient, one round of candidates; the best becomes the slot. Returns its loss."""
    here, slot = problem.scene(number), state["slot"]
    base = objectives.incumbent(problem.model, here, slot)
    drawn = swaps(slot, base.gradient, problem, random.Random(problem.seed(number)))
    state["slot"], loss = best_standing(problem, here, slot, drawn, base, problem.setting("verify"))
    return [loss]


def best_standing(problem: Problem, here: scene.Scene, slot: list[int], drawn: list[list[int]], base=None, verify=None):
    """(slot, its loss): of least loss among the drawn ones whose text reads back, and `slot` itself if the incumbent stays a candidate or
    nothing else stands."""
    tried = scene.survivors(drawn, problem.slot, problem.engine, problem.scenes, problem.words)
    if problem.setting("incumbent") or not tried:
        tried = [slot, *tried]
    while True:
        best, loss = objectives.best(problem.model, here, base, tried, verify)
        if tried[best] == slot or scene.stands(tried[best], problem.engine, problem.scenes, problem.words):
            return tried[best], loss
        tried = [other for other in tried if other != tried[best]] or [slot]  # rare: not seen in the window around the slot


def swaps(slot: list[int], gradient, problem: Problem, rng: random.Random) -> list[list[int]]:
    """Distinct single swaps out of `sts_candidates` draws: a random place and one of its top-k tokens. gradient: [slot, V]."""
    allowed = problem.words.allowed(len(slot))
    scores = (-gradient.cpu()[:, : allowed.shape[1]]).masked_fill(~allowed, float("-inf"))
    counts = allowed.sum(1).clamp(max=problem.setting("top_k")).tolist()
    top = scores.sort(descending=True, stable=True).indices[:, : problem.setting("top_k")].tolist()
    drawn: dict[tuple, None] = {}
    for _ in range(problem.setting("candidates")):
        place = rng.randrange(len(slot))
        if counts[place]:
            drawn[(*slot[:place], top[place][rng.randrange(counts[place])], *slot[place + 1 :])] = None
    drawn.pop(tuple(slot), None)
    return [list(s) for s in drawn]
