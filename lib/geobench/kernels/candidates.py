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
    """The present slot: its loss; `gradient` [slot, V] float32, the loss's derivative by the one-hot row of each place; `own`, keys
    and values of slot + tail + goal; `norms` [tail], sizes of the loss's derivative by the tail's embeddings."""

    slot: list[int]
    loss: float
    gradient: torch.Tensor
    own: Prefix
    norms: torch.Tensor


@torch.no_grad()
def prefix(model, ids: list[int], past: Prefix = decoder.EMPTY) -> Prefix:
    """Keys and values of `past` followed by `ids`; ordinary tensors, so that autograd may read them (not inference mode's)."""
    if not ids:
        return past
    return past.extend(decoder.forward(model, torch.tensor([ids], device=model.device), past, keep=True, last=1).own)


def incumbent(model, past: Prefix, slot: list[int], tail: list[int], goal: list[int]) -> Incumbent:
    """One forward and backward over slot + tail + goal."""
    table = model.model.embed_tokens.weight
    with torch.enable_grad():
        x = table[torch.tensor([*slot, *tail, *goal[:-1]], device=table.device)].detach().requires_grad_()
        out = decoder.forward(model, x[None], past, keep=True, last=len(goal))
        loss = goal_losses(model, out.hidden, goal)[0]
        (gradient,) = torch.autograd.grad(loss, x)
    gradient = gradient.float()
    norms = gradient[len(slot) : len(slot) + len(tail)].norm(dim=1)
    return Incumbent(slot, float(loss.detach()), gradient[: len(slot)] @ table.float().T, out.own, norms)


@torch.no_grad()
def candidate_losses(
    model, past: Prefix, slots: list[list[int]], tail: list[int], goal: list[int], batch: int | None = None, base: Incumbent | None = None
) -> list[float]:
    """Exact loss of each slot, in order; `batch` candidates go together (default 4 on a CPU, 32 elsewhere).

    base: an incumbent whose keys and values serve the places before a candidate's first change.
    """
    return _grouped(slots, base, batch or (4 if model.device.type == "cpu" else 32), lambda group, start: _exact(
        model, _head(past, base, start), [slots[n][start:] for n in group], tail, goal
    ))  # fmt: skip


def _exact(model, past: Prefix, slots, tail, goal) -> list[float]:
    tokens = torch.tensor([[*slot, *tail, *goal[:-1]] for slot in slots], device=model.device)
    return goal_losses(model, decoder.forward(model, tokens, past, last=len(goal)).hidden, goal).tolist()


@torch.no_grad()
def screened_losses(model, past: Prefix, base: Incumbent, slots, tail: list[int], goal: list[int], batch: int | None = None) -> list[float]:
    """Approximate loss of each slot: most tail rows keep the incumbent's keys and values.

    Recomputed are the slot from its first change on, the goal, and the tail's rows that a change reaches most: the first, the
    last, and those of largest input gradient.
    """
    size, places = len(base.slot), _rows(base.norms)
    stale = sorted(set(range(len(tail))) - set(places))

    def losses(group, start):
        index = torch.tensor([*range(start), *(size + n for n in stale)], dtype=torch.long, device=model.device)
        known = past.extend(Prefix([k[:, :, index] for k in base.own.keys], [v[:, :, index] for v in base.own.values]))
        own = [*range(start, size), *(size + n for n in places), *range(size + len(tail), size + len(tail) + len(goal) - 1)]
        rows, columns = (torch.tensor(p, device=model.device) + len(past) for p in (own, [*range(start), *(size + n for n in stale), *own]))
        columns = torch.cat([torch.arange(len(past), device=model.device), columns])
        mask = columns[None] <= rows[:, None]
        tokens = torch.tensor([[*slots[n][start:], *(tail[p] for p in places), *goal[:-1]] for n in group], device=model.device)
        out = decoder.forward(model, tokens, known, positions=rows, mask=mask, last=len(goal))
        return goal_losses(model, out.hidden, goal).tolist()

    return _grouped(slots, base, batch or (16 if model.device.type == "cpu" else 128), losses)


def best_candidate(model, past, base: Incumbent, slots, tail, goal, verify: int | None = None) -> tuple[int, float]:
    """(number of the best slot, its exact loss). verify: screen all and compute only so many of the best exactly; None: all."""
    chosen = list(range(len(slots)))
    if verify is not None and len(slots) > verify:
        screened = screened_losses(model, past, base, slots, tail, goal)
        chosen = sorted(sorted(chosen, key=screened.__getitem__)[:verify])
    losses = candidate_losses(model, past, [slots[n] for n in chosen], tail, goal, base=base)
    loss, number = min(zip(losses, chosen))
    return number, loss


def goal_losses(model, hidden: torch.Tensor, goal: list[int]) -> torch.Tensor:
    """[B] mean cross-entropy of `goal`. hidden [B, goal, D]: the states that predict its tokens."""
    scores = decoder.logits(model, hidden).flatten(0, 1)  # rows of V: over a transposed view torch sums V terms naively, 1e-4 off
    wanted = torch.tensor(goal, device=hidden.device).repeat(len(hidden))
    return F.cross_entropy(scores, wanted, reduction="none").unflatten(0, (len(hidden), -1)).mean(1)


def _rows(norms: torch.Tensor) -> list[int]:
    """Tail rows that a screen recomputes."""
    count = len(norms)
    loud = norms.topk(min(LOUDEST, count)).indices.tolist()
    return sorted({*range(min(FIRST, count)), *range(max(0, count - LAST), count), *loud})


def _head(past: Prefix, base: Incumbent | None, start: int) -> Prefix:
    """The prefix followed by the incumbent's first `start` places."""
    return past.extend(base.own.crop(start)) if start else past


def _grouped(slots, base: Incumbent | None, batch: int, work) -> list[float]:
    """Losses in order; candidates that change from a later place on go together. work(numbers, first changed place) -> losses."""
    first = [0 if base is None else _first_change(base.slot, slot) for slot in slots]
    order = sorted(range(len(slots)), key=lambda n: (first[n], n))
    losses = [0.0] * len(slots)
    for at in range(0, len(order), batch):
        group = order[at : at + batch]
        for n, loss in zip(group, work(group, first[group[0]])):
            losses[n] = loss
    return losses


def _first_change(old: list[int], new: list[int]) -> int:
    """The first place where two slots of one length differ; the last place when none does."""
    return min(len(commonprefix((old, new))), len(old) - 1)
