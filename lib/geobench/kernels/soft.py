"""Suffixes as distributions: forwards over soft embeddings after a shared prefix, for StealthRank's energy."""

import torch
import torch.nn.functional as F

from geobench.kernels import decoder
from geobench.kernels.candidates import goal_losses
from geobench.kernels.decoder import Prefix


def soft_embeddings(model, y: torch.Tensor, temperature: float) -> torch.Tensor:
    """[B, T, D] embeddings of the distributions softmax(y / temperature); y [B, T, V]."""
    return torch.softmax(y / temperature, -1).to(model.dtype) @ model.model.embed_tokens.weight


def straight_through(model, y: torch.Tensor, temperature: float) -> torch.Tensor:
    """[B, T, D]: the embeddings of the likeliest tokens, with the gradient of the soft ones."""
    soft = soft_embeddings(model, y, temperature)
    hard = model.model.embed_tokens.weight[y.argmax(-1)]
    return soft + (hard - soft).detach()


@torch.no_grad()
def next_distribution(model, past: Prefix, last: int, soft: torch.Tensor) -> torch.Tensor:
    """[B, T, V] float32 logits that the model itself gives each place of soft suffixes [B, T, D]. past: everything before the token
    `last` that stands before the suffix."""
    first = model.model.embed_tokens.weight[last].expand(len(soft), 1, -1)
    return decoder.logits(model, decoder.forward(model, torch.cat([first, soft[:, :-1]], 1), past).hidden)


def reply_losses(model, past: Prefix, suffix: torch.Tensor, tail: list[int], goal: list[int]) -> torch.Tensor:
    """[B] mean cross-entropy of the goal after suffix embeddings [B, T, D] and the tail; differentiable in the suffix."""
    rest = model.model.embed_tokens.weight[torch.tensor([*tail, *goal[:-1]], dtype=torch.long, device=suffix.device)]
    x = torch.cat([suffix, rest.expand(len(suffix), -1, -1)], 1)
    return goal_losses(model, decoder.forward(model, x, past, last=len(goal)).hidden, goal)


def fluency(y: torch.Tensor, own: torch.Tensor, top_k: int, always: list[int]) -> torch.Tensor:
    """[B] mean over places of the cross-entropy of the model's own distribution, cut to its top-k tokens and `always`, against
    log-softmax(y). y, own [B, T, V]."""
    kept = own.topk(min(top_k, own.shape[-1])).indices
    extra = torch.tensor(always, dtype=torch.long, device=y.device).expand(*kept.shape[:2], -1)
    masked = torch.full_like(own, float("-inf")).scatter(-1, torch.cat([kept, extra], -1), 0.0) + own
    target = masked.softmax(-1)
    return -(target * F.log_softmax(y, -1)).sum(-1).mean(1)


def overlap(y: torch.Tensor, words: list[int]) -> torch.Tensor:
    """[B] soft unigram precision against a set of words: expected count of each of the token ids, at most one, over the length."""
    counts = torch.softmax(y, -1)[..., words].sum(1)
    return counts.clamp(max=1).sum(-1) / y.shape[1]
