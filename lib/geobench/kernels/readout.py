"""The calibrated attention read-out (in-context re-ranking; Chen, Gutierrez & Su 2025), differentiable in the prompt's embeddings.

One forward holds what is new of the prompt and, side by side, the query and a content-free query, which do not see each other.
It stops in the last layer whose heads are read (query-focused retrieval heads; Zhang et al. 2025).

For white-box attacks a prompt is past + slot + tail, as in kernels.candidates, and the loss of a slot is `promotion_loss` of the
items' scores. Candidates run in batches that share what stands before their first change; a screen keeps the incumbent's keys
and values for most of the tail.
"""

from dataclasses import dataclass

import torch

from geobench.kernels import candidates, decoder
from geobench.kernels.candidates import Incumbent
from geobench.kernels.decoder import Heads, Prefix

FIRST, LOUDEST = 0, 16  # tail rows that a screen recomputes


@dataclass(frozen=True)
class ReadOut:
    """`difference` [B, tokens] float32 (apart: [B, heads, tokens]): attention of the query's rows, their mean, minus the neutral query's,
    per token of the prompt; `own`: keys and values of the new prompt tokens (None unless asked for)."""

    difference: torch.Tensor
    own: Prefix | None


@dataclass(frozen=True)
class Wanted:
    """What a read-out asks of a prompt: `heads`; the tokens of the `query` and of the `neutral` query; per item the token range of its
    line, `spans` [(start, end)] in shown order, for a slot of `size` tokens at place `slot`; the target's place `shown`."""

    heads: Heads
    query: list[int]
    neutral: list[int]
    spans: tuple
    shown: int
    slot: int
    size: int

    def lines(self, size: int) -> list[tuple[int, int]]:
        """The token ranges when the slot has `size` tokens."""
        shift = size - self.size
        return [(start + shift * (start > self.slot), end + shift * (end > self.slot)) for start, end in self.spans]


def read_out(
    model, past: Prefix, rest: torch.Tensor, query: list[int], neutral: list[int], heads: Heads, keep=False, apart=False, places=None
) -> ReadOut:
    """Run the prompt tokens `rest` (ids [B, T] or embeddings [B, T, D]) after `past`, then both queries.

    apart: each head's attention instead of their sum. places: (positions of the tokens of `past`, of `rest`) in the prompt, where they
    do not follow one another.
    """
    new, q, n, device = rest.shape[1], len(query), len(neutral), model.device
    total = len(past) + new
    known, own = places or (torch.arange(len(past), device=device), torch.arange(len(past), total, device=device))
    positions = torch.cat([own, torch.arange(total, total + q, device=device), torch.arange(total, total + n, device=device)])
    mask = decoder.causal_mask(positions, known, decoder.window(model))
    mask[new : new + q, total + q :] = False
    mask[new + q :, total : total + q] = False
    asked = torch.tensor(query + neutral, device=device).expand(len(rest), -1)
    tokens = torch.cat([rest, asked if rest.dtype == torch.long else model.model.embed_tokens(asked)], 1)
    read = torch.arange(new, new + q + n, device=device)
    out = decoder.forward(model, tokens, past, positions=positions, mask=mask, read=read, heads=heads, apart=apart, keep=keep)
    of_query, of_neutral = out.attention[..., :total].split([q, n], -2)
    difference = of_query.mean(-2) - of_neutral.mean(-2)
    if places:
        difference = difference[..., torch.cat([known, own]).argsort()]
    return ReadOut(difference, out.own.crop(new) if keep else None)


def item_scores(difference: torch.Tensor, spans: list[tuple[int, int]]) -> torch.Tensor:
    """[..., L] float64: mean of `difference` [..., tokens] over each item's tokens start..end (end excluded)."""
    return torch.stack([difference[..., start:end].double().mean(-1) for start, end in spans], -1)


def promotion_loss(scores: torch.Tensor, target: int) -> torch.Tensor:
    """[B] cross-entropy of the target among standardised scores: free of the read-out's scale. scores [B, L]; target 0-based."""
    spread = scores.std(1, correction=0, keepdim=True).clamp(min=1e-12)
    return -((scores - scores.mean(1, keepdim=True)) / spread).log_softmax(1)[:, target]


def loss_of(model, past: Prefix, wanted: Wanted, rest: torch.Tensor, size: int, places=None) -> torch.Tensor:
    """[B] promotion loss when slot + tail are `rest` (ids [B, T] or embeddings [B, T, D]) with slots of `size` tokens."""
    out = read_out(model, past, rest, wanted.query, wanted.neutral, wanted.heads, places=places)
    return promotion_loss(item_scores(out.difference, wanted.lines(size)), wanted.shown)


def incumbent(model, past: Prefix, slot: list[int], tail: list[int], wanted: Wanted, gradient: bool = True) -> Incumbent:
    """One forward over slot + tail and both queries, and a backward unless `gradient` is false."""

    def forward(x):
        out = read_out(model, past, x[None], wanted.query, wanted.neutral, wanted.heads, keep=True)
        return promotion_loss(item_scores(out.difference, wanted.lines(len(slot))), wanted.shown)[0], out.own

    return candidates.differentiated(model, slot, tail, forward, gradient)


@torch.no_grad()
def candidate_losses(
    model, past: Prefix, slots: list[list[int]], tail: list[int], wanted: Wanted, batch: int | None = None, base: Incumbent | None = None
) -> list[float]:
    """Exact loss of each slot, in order; arguments as in candidates.candidate_losses."""

    def losses(group, start):
        rest = torch.tensor([[*slots[n][start:], *tail] for n in group], device=model.device)
        return loss_of(model, candidates.head(past, base, start), wanted, rest, len(slots[group[0]])).tolist()

    return candidates.grouped(slots, base, batch or candidates.exact_batch(model), losses)


@torch.no_grad()
def screened_losses(model, past: Prefix, base: Incumbent, slots, tail: list[int], wanted: Wanted, batch: int | None = None) -> list[float]:
    """Approximate loss of each slot: of the tail only the first rows and those of largest input gradient are computed anew."""
    places = candidates.tail_rows(base.norms, FIRST, LOUDEST, 0)

    def losses(group, start):
        known, known_at, own_at = candidates.stale(past, base, start, places)
        rest = torch.tensor([[*slots[n][start:], *(tail[p] for p in places)] for n in group], device=model.device)
        return loss_of(model, known, wanted, rest, len(base.slot), (known_at, own_at)).tolist()

    return candidates.grouped(slots, base, batch or candidates.screen_batch(model), losses)

