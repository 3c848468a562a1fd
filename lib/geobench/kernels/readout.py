"""The calibrated attention read-out (in-context re-ranking; Chen, Gutierrez & Su 2025), differentiable in the prompt's embeddings.

One forward holds what is new of the prompt and, side by side, the query and a content-free query, which do not see each other.
"""

from dataclasses import dataclass

import torch

from geobench.kernels import decoder
from geobench.kernels.decoder import Prefix


@dataclass(frozen=True)
class ReadOut:
    """`difference` [tokens] float32: mean attention of the query's rows minus the neutral query's, per token of the prompt; `own`:
    keys and values of the new prompt tokens (None unless asked for)."""

    difference: torch.Tensor
    own: Prefix | None


def read_out(model, past: Prefix, rest: torch.Tensor, query: list[int], neutral: list[int], keep: bool = False) -> ReadOut:
    """Run the prompt tokens `rest` (ids [T] or embeddings [T, D]) after `past`, then both queries."""
    new, q, n, device = len(rest), len(query), len(neutral), model.device
    start = len(past) + new
    positions = torch.cat([torch.arange(len(past), start), torch.arange(start, start + q), torch.arange(start, start + n)]).to(device)
    mask = decoder.causal_mask(positions, len(past), decoder.window(model))
    mask[new : new + q, start + q :] = False
    mask[new + q :, start : start + q] = False
    asked = torch.tensor(query + neutral, device=device)
    tokens = torch.cat([rest, asked if rest.dtype == torch.long else model.model.embed_tokens(asked)])[None]
    read = torch.arange(new, new + q + n, device=device)
    out = decoder.forward(model, tokens, past, positions=positions, mask=mask, read=read, only_attention=True, keep=keep)
    of_query, of_neutral = out.attention.split([q, n])
    return ReadOut(of_query[:, :start].mean(0) - of_neutral[:, :start].mean(0), out.own.crop(new) if keep else None)


def item_scores(difference: torch.Tensor, spans: list[tuple[int, int]]) -> torch.Tensor:
    """[L] float64: mean of `difference` over each item's tokens start..end (end excluded)."""
    return torch.stack([difference[start:end].double().mean() for start, end in spans])


def promotion_loss(scores: torch.Tensor, target: int) -> torch.Tensor:
    """Cross-entropy of the target among standardised scores: free of the read-out's scale. scores [L]; target 0-based."""
    spread = scores.std(correction=0).clamp(min=1e-12)
    return -((scores - scores.mean()) / spread).log_softmax(0)[target]
