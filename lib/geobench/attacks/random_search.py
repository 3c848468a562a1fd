"""Random token search, the control of the gradient attacks: STS without its gradient.

It computes every candidate exactly. So does STS by default, and both spend the same number of forward passes; with `sts_verify` STS screens
its candidates and computes only the best few, and then spends fewer.

Each step draws as many single swaps as STS does, and one more in place of the gradient's forward pass, uniformly over places and
allowed tokens; the slot stays a candidate. Budgets are the parameters of STS.
"""

import random

from geobench.attacks.optimise import Problem
from geobench.attacks.sts import best_standing, slots, start

METHOD = "random_search"
NAMES = ("tokens", "steps", "candidates", "orders", "incumbent")
__all__ = ["METHOD", "NAMES", "slots", "start", "step"]


def step(problem: Problem, state: dict, number: int) -> list[float]:
    """One round of random candidates; the best becomes the slot. Returns its loss."""
    rng, slot, allowed = random.Random(problem.seed(number)), state["slot"], problem.words.allowed(len(state["slot"]))
    free = [row.nonzero()[:, 0].tolist() for row in (allowed[0], allowed[-1])]  # at the first place, at any other
    drawn: dict[tuple, None] = {}
    for _ in range(problem.setting("candidates") + 1):
        place = rng.randrange(len(slot))
        drawn[(*slot[:place], rng.choice(free[place > 0]), *slot[place + 1 :])] = None
    drawn.pop(tuple(slot), None)
    state["slot"], loss = best_standing(problem, problem.scene(number), slot, [list(s) for s in drawn])
    return [loss]
