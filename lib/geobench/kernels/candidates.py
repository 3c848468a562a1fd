"""Losses of many token candidates at one slot of a prompt, and the gradient that proposes them.

A prompt is past + slot + tail + goal: `past` (keys and values) is shared by all candidates and never recomputed, `slot` holds the
tokens under search, `tail` the rest of the prompt, `goal` the reply whose mean cross-entropy under teacher forcing is the loss.
"""

import torch
import torch.nn.functional as F

from geobench.kernels import decoder
from geobench.kernels.decoder import Prefix


@torch.no_grad()
def prefix(model, ids: list[int], past: Prefix = decoder.EMPTY) -> Prefix:
    """Keys and values of `past` followed by `ids`; ordinary tensors, so that autograd may read them (not inference mode's)."""
    if not ids:
        return past
    own = decoder.forward(model, torch.tensor([ids], device=model.device), past, keep=True).own
    return past.extend(own)


def token_gradient(model, past: Prefix, slot: list[int], tail: list[int], goal: list[int]) -> tuple[float, torch.Tensor]:
    """Loss of the slot, and [slot, V] float32: its derivative by the one-hot row of each place."""
    table = model.model.embed_tokens.weight
    with torch.enable_grad():
        own = table[torch.tensor(slot, device=table.device)].detach().requires_grad_()
        rest = table[torch.tensor([*tail, *goal[:-1]], dtype=torch.long, device=table.device)]
        loss = _losses(model, past, torch.cat([own, rest])[None], goal)[0]
        (gradient,) = torch.autograd.grad(loss, own)
    return float(loss.detach()), gradient.float() @ table.float().T


@torch.no_grad()
def candidate_losses(
    model, past: Prefix, slots: list[list[int]], tail: list[int], goal: list[int], batch: int | None = None
) -> list[float]:
    """Exact loss of each slot, in order; `batch` candidates go together (default 4 on a CPU, 32 elsewhere)."""
    batch = batch or (4 if model.device.type == "cpu" else 32)
    losses: list[float] = []
    for start in range(0, len(slots), batch):
        rows = [[*slot, *tail, *goal[:-1]] for slot in slots[start : start + batch]]
        losses += _losses(model, past, torch.tensor(rows, device=model.device), goal).tolist()
    return losses


def _losses(model, past: Prefix, tokens: torch.Tensor, goal: list[int]) -> torch.Tensor:
    """[B] mean cross-entropy of `goal`; tokens: ids [B, T] or embeddings [B, T, D] that end before the goal's last token."""
    hidden = decoder.forward(model, tokens, past, last=len(goal)).hidden
    wanted = torch.tensor(goal, device=hidden.device).expand(len(hidden), -1)
    return F.cross_entropy(decoder.logits(model, hidden).transpose(1, 2), wanted, reduction="none").mean(1)
