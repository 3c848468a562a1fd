"""RAF (Xing et al. 2026): a suffix that grows token by token, each chosen for fluency and for the objective together.

Stage 1 keeps the `raf_top` tokens of largest log p(v) - raf_guide * gradient(v), the gradient taken at the token being chosen; stage 2
draws the token from softmax(-loss), loss = -w log p(v) + raf_target * objective, where w = raf_alpha (1 - H / log V) adapts to the
entropy H of the model's own next-token distribution. A place is finished when its best token repeats an earlier best one, or after
`raf_patience` steps; then the drawn token is fixed and the next place opens. Departures: candidates must survive re-tokenisation; with
`raf_verify` they are screened with stale keys and values first, and the token is drawn among so many of the best, computed exactly.
"""

import math

import numpy as np
import torch

from geobench.attacks import objectives, scene
from geobench.attacks.optimise import Problem
from geobench.kernels import decoder
from geobench.kernels.candidates import prefix

METHOD = "raf"
NAMES = ("tokens", "steps", "top", "guide", "target", "alpha", "patience", "orders", "verify")


def start(problem: Problem) -> dict:
    """`slot`: fixed tokens and the one being chosen; `seen`: best tokens at this place so far; `shown`: the suffix drawn last."""
    return {"slot": problem.slot[:1], "seen": [], "shown": problem.slot[:1]}


def slots(problem: Problem, state: dict) -> list[list[int]]:
    return [state["shown"]]


def step(problem: Problem, state: dict, number: int) -> list[float]:
    """Choose the last token once more; returns the objective's loss of the drawn one."""
    here, slot = problem.scene(number), state["slot"]
    logp = _next_token(problem.model, here, slot[:-1])
    base = objectives.incumbent(problem.model, here, slot)
    drawn = _kept(problem, slot, logp - problem.setting("guide") * base.gradient[-1].cpu())
    tried = scene.survivors(drawn, problem.slot, problem.engine, problem.scenes, problem.words)
    entropy = float(-(logp.exp() * logp).sum())
    weight = problem.setting("alpha") * (1 - entropy / math.log(len(logp)))

    def total_of(slots, losses):
        return -weight * logp[[s[-1] for s in slots]].double() + problem.setting("target") * losses

    if (verify := problem.setting("verify")) is not None and len(tried) > verify:
        screened = torch.tensor(objectives.screened(problem.model, here, tried, base), dtype=torch.float64)
        tried = [tried[n] for n in total_of(tried, screened).argsort(stable=True)[:verify].sort().values]
    losses = torch.tensor(objectives.losses(problem.model, here, tried, base), dtype=torch.float64)
    total = total_of(tried, losses)
    taken = _drawn(problem, tried, total, np.random.default_rng(problem.seed(number)).random())
    if taken is None:
        state["finished"] = True
        return objectives.losses(problem.model, here, [state["shown"]])
    state["slot"] = state["shown"] = tried[taken]
    _advance(problem, state, tried[int(total.argmin())][-1])
    return [float(losses[taken])]


def _drawn(problem: Problem, tried: list[list[int]], total: torch.Tensor, uniform: float) -> int | None:
    """Number of a slot drawn from softmax(-total) among those that read back in the whole prompt; None where none does. Those that
    do not are struck from `total`."""
    while bool(total.isfinite().any()):
        chances = torch.softmax(-total, 0).cumsum(0)
        taken = min(int(torch.searchsorted(chances, uniform * float(chances[-1]), right=True)), int(total.isfinite().nonzero()[-1]))
        if scene.stands(tried[taken], problem.engine, problem.scenes, problem.words):
            return taken
        total[taken] = math.inf
    return None


def _next_token(model, here: scene.Scene, fixed: list[int]) -> torch.Tensor:
    """[V] log-probabilities of the next token after the description and the fixed part of the suffix."""
    past = prefix(model, fixed, here.past)
    with torch.no_grad():
        last = [*here.head, *fixed][-1]
        hidden = decoder.forward(model, torch.tensor([[last]], device=model.device), past.crop(len(past) - 1)).hidden[0, -1]
        return decoder.logits(model, hidden).log_softmax(-1).cpu()


def _kept(problem: Problem, slot: list[int], scores: torch.Tensor) -> list[list[int]]:
    """The slot with each of the `raf_top` best allowed tokens at its last place."""
    allowed = problem.words.allowed(len(slot))[-1]
    scores = scores[: len(allowed)].masked_fill(~allowed, float("-inf"))
    count = min(problem.setting("top"), int(allowed.sum()))
    return [[*slot[:-1], token] for token in scores.sort(descending=True, stable=True).indices[:count].tolist()]


def _advance(problem: Problem, state: dict, best: int) -> None:
    """Open the next place when this one is finished, with the token just drawn as its start."""
    if best not in state["seen"] and len(state["seen"]) + 1 < problem.setting("patience"):
        state["seen"].append(best)
        return
    if len(state["slot"]) == problem.setting("tokens"):
        state["finished"] = True
        return
    state["slot"], state["seen"] = [*state["slot"], state["slot"][-1]], []
