"""StealthRank (Tang et al. 2025): Langevin dynamics over the logits of a whole suffix, so that it stays fluent, avoids promotional
words and raises the reply's probability.

Variables are the logits y = y0 + e of `stealthrank_rows` suffixes. y0 are the logits with which the model continues a guiding sentence
(sampled at top-k), e is learned by Adam; after each update Gaussian noise is added to y0 on a falling schedule. Energy: w0 fluency
+ w1 cross-entropy of the reply under the likeliest tokens (straight-through) + w2 overlap with promotional words. Every row is decoded
by its likeliest allowed tokens. With the attention objective the second term is the read-out's promotion loss.
"""

import torch

from geobench.attacks.optimise import Problem
from geobench.detectors.keywords import load_lexicon
from geobench.kernels import decoder, readout, soft
from geobench.kernels.cache import Cache
from geobench.prompts import load_prompt

METHOD = "stealthrank"
NAMES = ("tokens", "rows", "steps", "rate", "temperature", "top_k", "weights", "orders")
NOISE = ((50, 0.1), (200, 0.05), (500, 0.01), (1500, 0.005))  # (before this step, standard deviation); 0.001 afterwards


def start(problem: Problem) -> dict:
    """`y0` the logits of the sampled continuations; `e` and Adam's moments."""
    y0 = _continuations(problem)
    return {"y0": y0, "e": torch.zeros_like(y0), "mean": torch.zeros_like(y0), "square": torch.zeros_like(y0)}


def slots(problem: Problem, state: dict) -> list[list[int]]:
    """[rows][tokens]: the likeliest allowed token of each place."""
    allowed = problem.words.allowed(state["y0"].shape[1]).to(state["y0"].device)
    y = (state["y0"] + state["e"])[..., : allowed.shape[1]]
    return y.masked_fill(~allowed, float("-inf")).argmax(-1).tolist()


def step(problem: Problem, state: dict, number: int) -> list[float]:
    """One update of all rows; returns each row's objective before it."""
    e = state["e"].clone().requires_grad_()
    with torch.enable_grad():
        total, wanted = energy(problem, state["y0"] + e, problem.scene(number))
        (gradient,) = torch.autograd.grad(total.sum(), e)
    _adam(state, gradient, number + 1, problem.setting("rate"))
    deviation = next((sd for before, sd in NOISE if number < before), 0.001)
    noise = torch.randn(state["y0"].shape, generator=torch.Generator().manual_seed(problem.seed("noise", number)))
    state["y0"] = state["y0"] + deviation * noise.to(state["y0"].device)
    return wanted.tolist()


def energy(problem: Problem, y: torch.Tensor, here) -> tuple[torch.Tensor, torch.Tensor]:
    """([rows] energy, [rows] objective) of logits y [rows, tokens, V]."""
    temperature, weights = problem.setting("temperature"), problem.setting("weights")
    words = promotional(problem)
    before = here.past.crop(len(here.past) - 1)
    own = soft.next_distribution(problem.model, before, here.head[-1], soft.soft_embeddings(problem.model, y.detach(), temperature))
    suffix = soft.straight_through(problem.model, y, temperature)
    if here.wanted:
        tail = problem.model.model.embed_tokens.weight[torch.tensor(here.tail, dtype=torch.long, device=y.device)]
        rest = torch.cat([suffix, tail.expand(len(suffix), -1, -1)], 1)
        wanted = readout.loss_of(problem.model, here.past, here.wanted, rest, suffix.shape[1])
    else:
        wanted = soft.reply_losses(problem.model, here.past, suffix, here.tail, here.goal)
    fluent = soft.fluency(y, own, problem.setting("top_k"), words)
    return weights[0] * fluent + weights[1] * wanted + weights[2] * soft.overlap(y, words), wanted.detach()


def promotional(problem: Problem) -> list[int]:
    """Token ids of the lexicon's words that are one token inside a text."""
    code = problem.engine.tokenizer
    coded = (code(" " + word, add_special_tokens=False)["input_ids"] for word in load_lexicon().words)
    return sorted({ids[0] for ids in coded if len(ids) == 1})


def _continuations(problem: Problem) -> torch.Tensor:
    """[rows, tokens, V] float32 logits that predicted each token of the sampled continuations."""
    guide = load_prompt("white_box")["stealthrank"]["guide"]
    ids = problem.engine.encode(f"{problem.task.item.description} {guide}", problem.task.name, room=problem.setting("tokens"))
    rows, size = problem.setting("rows"), problem.setting("tokens")
    generator, seen = torch.Generator().manual_seed(problem.seed("start")), []
    cache = Cache(problem.model, [ids] * rows, size)
    for place in range(size):
        with torch.no_grad():
            logits = decoder.logits(problem.model, cache.hidden.clone())
        seen.append(logits)
        top = logits.topk(min(problem.setting("top_k"), logits.shape[1]))
        drawn = torch.multinomial(top.values.cpu().softmax(-1), 1, generator=generator)
        if place < size - 1:
            cache.step(top.indices.cpu().gather(1, drawn)[:, 0].tolist())
    return torch.stack(seen, 1).clone()


def _adam(state: dict, gradient: torch.Tensor, step: int, rate: float) -> None:
    """One step of Adam (Kingma & Ba 2015) on `e`, its moments kept in the state so that a checkpoint has them."""
    state["mean"] = 0.9 * state["mean"] + 0.1 * gradient
    state["square"] = 0.999 * state["square"] + 0.001 * gradient**2
    mean, square = state["mean"] / (1 - 0.9**step), state["square"] / (1 - 0.999**step)
    state["e"] = state["e"] - rate * mean / (square.sqrt() + 1e-8)
