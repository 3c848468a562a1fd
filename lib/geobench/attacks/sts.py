"""STS, strategic text sequences (Kumar & Lakkaraju 2024): a greedy coordinate gradient search (Zou et al. 2023) for a suffix after
which the objective is met, by default that the reply starts with "1. {Name}".

As published, the best single swaps of a step are also tried together: the best two, the best three, up to `sts_merge`. Departures from
the published search: the incumbent stays a candidate unless `sts_incumbent` is false, and only suffixes whose text encodes back to the
same tokens in place, under every search order, are tried. With `sts_verify` candidates are screened with stale keys and values first
and only the best few are computed exactly.
"""

import random

from geobench.attacks import objectives, scene
from geobench.attacks.optimise import Problem
from geobench.kernels.candidates import verified

METHOD = "sts"
NAMES = ("tokens", "steps", "candidates", "top_k", "orders", "incumbent", "verify", "merge")


def start(problem: Problem) -> dict:
    return {"slot": problem.slot}


def slots(problem: Problem, state: dict) -> list[list[int]]:
    return [state["slot"]]


def step(problem: Problem, state: dict, number: int) -> list[float]:
    """One gradient, one round of candidates; the best becomes the slot. Returns its loss."""
    here, slot = problem.scene(number), state["slot"]
    base = objectives.incumbent(problem.model, here, slot)
    drawn = swaps(slot, base.gradient, problem, random.Random(problem.seed(number)))
    state["slot"], loss = best_standing(problem, here, drawn, base)
    return [loss]


def best_standing(problem: Problem, here: scene.Scene, drawn: list[list[int]], base) -> tuple[list[int], float]:
    """(slot, its loss): of least loss among the drawn ones and their merges whose text reads back, and the incumbent itself if it stays a
    candidate or nothing else stands."""
    verify, slot = problem.setting("verify"), base.slot
    tried = standing(problem, drawn)
    losses = _losses(problem, here, tried, base, verify)
    best = [tried[n] for n in sorted(range(len(tried)), key=losses.__getitem__)[: problem.setting("merge")]]
    merged = [other for other in standing(problem, merges(slot, best)) if other not in tried]
    tried, losses = tried + merged, losses + _losses(problem, here, merged, base, verify)
    ordered = sorted(zip(losses, range(len(tried))))
    if verify is not None:
        ordered = verified(losses, verify, lambda numbers: objectives.losses(problem.model, here, [tried[n] for n in numbers], base))
    for loss, n in ordered:
        if problem.setting("incumbent") and loss >= base.loss:
            break
        if scene.stands(tried[n], problem.engine, problem.scenes, problem.words):  # rare: not seen in the window around the slot
            return tried[n], loss
    return slot, base.loss


def standing(problem: Problem, drawn: list[list[int]]) -> list[list[int]]:
    """Those of the slots whose text encodes back to them."""
    return scene.survivors(drawn, problem.slot, problem.engine, problem.scenes, problem.words) if drawn else []


def merges(slot: list[int], best: list[list[int]]) -> list[list[int]]:
    """The changes of the best two, three, ... slots together; a better one's change wins where two change one place."""
    found, together = [], list(slot)
    for other in best:
        together = [new if old == now and new != old else now for old, now, new in zip(slot, together, other)]
        found.append(together)
    return [list(row) for row in dict.fromkeys(map(tuple, found[1:])) if list(row) not in best]


def _losses(problem: Problem, here: scene.Scene, slots: list[list[int]], base, verify: int | None) -> list[float]:
    """Loss of each slot: screened where the best are verified later, else exact."""
    if verify is None:
        return objectives.losses(problem.model, here, slots, base)
    return objectives.screened(problem.model, here, slots, base)


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
