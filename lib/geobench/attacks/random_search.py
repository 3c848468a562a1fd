"""Random token search, the control of the gradient attacks: STS without its gradient.

Each step draws as many single swaps as STS does, uniformly over places and allowed tokens. Its budgets are the parameters of STS,
and so are screening and merging.
"""

import random

from geobench.attacks import objectives
from geobench.attacks.optimise import Problem
from geobench.attacks.sts import best_standing, slots, start

METHOD = "random_search"
NAMES = ("tokens", "steps", "candidates", "orders", "incumbent", "verify", "merge")
__all__ = ["METHOD", "NAMES", "slots", "start", "step"]


def step(problem: Problem, state: dict, number: int) -> list[float]:
    """One round of random candidates; the best becomes the slot. Returns its loss."""
    rng, slot, allowed = random.Random(problem.seed(number)), state["slot"], problem.words.allowed(len(state["slot"]))
    free = [row.nonzero()[:, 0].tolist() for row in (allowed[0], allowed[-1])]  # at the first place, at any other
    drawn: dict[tuple, None] = {}
    for _ in range(problem.setting("candidates")):
        place = rng.randrange(len(slot))
        drawn[(*slot[:place], rng.choice(free[place > 0]), *slot[place + 1 :])] = None
    drawn.pop(tuple(slot), None)
    base = objectives.incumbent(problem.model, problem.scene(number), slot, gradient=False)
    state["slot"], loss = best_standing(problem, problem.scene(number), [list(s) for s in drawn], base)
    return [loss]
