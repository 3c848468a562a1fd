"""Losses of many token candidates at one slot of a prompt, and the gradient that proposes them.

A prompt is past + slot + tail + goal: `past` (keys and values) is shared by all candidates and never recomputed, `slot` holds the
tokens under search, `tail` the rest of the prompt, `goal` the reply whose mean cross-entropy under teacher forcing is the loss.
A candidate differs from the incumbent from some place on; what stands before it is the incumbent's and is not recomputed either.
"""

from dataclasses import dataclass
from os.path import commonprefix

import torch
import torch.nn.functional as F

from geobench.kernels import decoder
from geobench.kernels.decoder import Prefix

FIRST, LOUDEST, LAST = 8, 16, 6  # tail rows that a screen recomputes: after the slot, of largest input gradient, before the goal


@dataclass(frozen=True)
class Incumbent:
    """The present slot: its loss; `gradient` [slot, V] float32, the loss's derivative by the one-hot row of each place (None unless asked
    for); `own`, keys and values of slot + tail + goal; `norms` [tail], sizes of the loss's derivative by the tail's embeddings."""

    slot: list[int]
    loss: float
    gradient: torch.Tensor | None
    own: Prefix
    norms: torch.Tensor


@torch.no_grad()
def prefix(model, ids: list[int], past: Prefix = decoder.EMPTY) -> Prefix:
    """Keys and values of `past` followed by `ids`; ordinary tensors, so that autograd may read them (not inference mode's)."""
    if not ids:
        return past
    return past.extend(decoder.forward(model, torch.tensor([ids], device=model.device), past, keep=True, last=1).own)


def incumbent(model, past: Prefix, slot: list[int], tail: list[int], goal: list[int], gradient: bool = True) -> Incumbent:
    """One forward over slot + tail + goal, and a backward unless `gradient` is false."""

    def forward(x):
        out = decoder.forward(model, torch.cat([x, _embedded(model, goal[:-1])])[None], past, keep=True, last=len(goal))
        return goal_losses(model, out.hidden, goal)[0], out.own

    return differentiated(model, slot, tail, forward, gradient)


def differentiated(model, slot: list[int], tail: list[int], forward, gradient: bool) -> Incumbent:
    """The incumbent by forward(embeddings [slot + tail, D]) -> (loss, own keys and values), and by its backward."""
    x = _embedded(model, [*slot, *tail]).detach()
    with torch.set_grad_enabled(gradient):
        x.requires_grad_(gradient)
        loss, own = forward(x)
        found = torch.autograd.grad(loss, x)[0].float() if gradient else torch.zeros_like(x, dtype=torch.float32)
    table = model.model.embed_tokens.weight.float()
    return Incumbent(slot, float(loss.detach()), found[: len(slot)] @ table.T if gradient else None, own, found[len(slot) :].norm(dim=1))


def _embedded(model, ids: list[int]) -> torch.Tensor:
    table = model.model.embed_tokens.weight
    return table[torch.tensor(ids, dtype=torch.long, device=table.device)]


@torch.no_grad()
def candidate_losses(
    model, past: Prefix, slots: list[list[int]], tail: list[int], goal: list[int], batch: int | None = None, base: Incumbent | None = None
) -> list[float]:
    """Exact loss of each slot, in order; `batch` candidates go together (default 4 on a CPU, 32 elsewhere).

    base: an incumbent whose keys and values serve the places before a candidate's first change.
    """

    def losses(group, start):
        tokens = torch.tensor([[*slots[n][start:], *tail, *goal[:-1]] for n in group], device=model.device)
        return goal_losses(model, decoder.forward(model, tokens, head(past, base, start), last=len(goal)).hidden, goal).tolist()

    return grouped(slots, base, batch or exact_batch(model), losses)


@torch.no_grad()
def screened_losses(model, past: Prefix, base: Incumbent, slots, tail: list[int], goal: list[int], batch: int | None = None) -> list[float]:
    """Approximate loss of each slot: most tail rows keep the incumbent's keys and values.

    Recomputed are the slot from its first change on, the goal, and the tail's rows that a change reaches most: the first, the
    last, and those of largest input gradient.
    """
    places = tail_rows(base.norms, FIRST, LOUDEST, LAST)

    def losses(group, start):
        known, known_at, own_at = stale(past, base, start, places)
        goal_at = torch.arange(len(goal) - 1, device=model.device) + len(past) + len(base.slot) + len(tail)
        own_at = torch.cat([own_at, goal_at])
        mask = decoder.causal_mask(own_at, known_at, decoder.window(model))
        tokens = torch.tensor([[*slots[n][start:], *(tail[p] for p in places), *goal[:-1]] for n in group], device=model.device)
        out = decoder.forward(model, tokens, known, positions=own_at, mask=mask, last=len(goal))
        return goal_losses(model, out.hidden, goal).tolist()

    return grouped(slots, base, batch or screen_batch(model), losses)


def stale(past: Prefix, base: Incumbent, start: int, places: list[int]) -> tuple[Prefix, torch.Tensor, torch.Tensor]:
    """(keys and values that a screen keeps: the past, the slot before `start`, and the tail without `places`; their positions in the
    prompt; the positions of what it computes: the slot from `start` on, and the tail's `places`)."""
    size, device = len(base.slot), base.own.keys[0].device
    kept = [*range(start), *(size + n for n in range(len(base.norms)) if n not in set(places))]
    index = torch.tensor(kept, dtype=torch.long, device=device)
    known = past.extend(Prefix([k[:, :, index] for k in base.own.keys], [v[:, :, index] for v in base.own.values]))
    own_at = torch.tensor([*range(start, size), *(size + n for n in places)], device=device) + len(past)
    return known, torch.cat([torch.arange(len(past), device=device), index + len(past)]), own_at


def verified(screened: list[float], count: int, exact) -> list[tuple[float, int]]:
    """(exact loss, number) of the `count` candidates of least screened loss, best first. exact(numbers) -> losses."""
    numbers = sorted(sorted(range(len(screened)), key=screened.__getitem__)[:count])
    return sorted(zip(exact(numbers), numbers))


def goal_losses(model, hidden: torch.Tensor, goal: list[int]) -> torch.Tensor:
    """[B] mean cross-entropy of `goal`. hidden [B, goal, D]: the states that predict its tokens."""
    scores = decoder.logits(model, hidden).flatten(0, 1)  # rows of V: over a transposed view torch sums V terms naively, 1e-4 off
    wanted = torch.tensor(goal, device=hidden.device).repeat(len(hidden))
    return F.cross_entropy(scores, wanted, reduction="none").unflatten(0, (len(hidden), -1)).mean(1)


def tail_rows(norms: torch.Tensor, first: int, loudest: int, last: int) -> list[int]:
    """Tail rows that a screen recomputes: the first, the last, and those of largest input gradient."""
    count = len(norms)
    loud = norms.topk(min(loudest, count)).indices.tolist()
    return sorted({*range(min(first, count)), *range(max(0, count - last), count), *loud})


def head(past: Prefix, base: Incumbent | None, start: int) -> Prefix:
    """The prefix followed by the incumbent's first `start` places."""
    return past.extend(base.own.crop(start)) if start else past


def grouped(slots, base: Incumbent | None, batch: int, work) -> list[float]:
    """Losses in order; candidates that change from a later place on go together. work(numbers, first changed place) -> losses."""
    first = [0 if base is None else _first_change(base.slot, slot) for slot in slots]
    order = sorted(range(len(slots)), key=lambda n: (first[n], n))
    losses = [0.0] * len(slots)
    for at in range(0, len(order), batch):
        group = order[at : at + batch]
        for n, loss in zip(group, work(group, first[group[0]])):
            losses[n] = loss
    return losses


def exact_batch(model) -> int:
    """Candidates that are computed exactly at once."""
    return 4 if model.device.type == "cpu" else 32


def screen_batch(model) -> int:
    """Candidates that are screened at once."""
    return 16 if model.device.type == "cpu" else 128


def _first_change(old: list[int], new: list[int]) -> int:
    """The first place where two slots of one length differ; the last place when none does."""
    return min(len(commonprefix((old, new))), len(old) - 1)
