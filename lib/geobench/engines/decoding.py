"""Choosing the next token so that the text does not depend on the batch it was decoded in.

Batched and padded forwards differ from a lone one by rounding, and now and then that flips a choice. So a choice is taken from
the batched logits only when it is safe by a margin far above the rounding; otherwise the caller recomputes that row alone and
the choice is taken from there. Sampling draws one uniform number per step from a generator keyed by (seed, step): it inverts
the cumulative distribution over token ids and redraws while the token lies outside the nucleus.
"""

from dataclasses import dataclass

import numpy as np
import torch

MARGIN = {torch.float32: 2e-4, torch.float16: 0.1, torch.bfloat16: 0.5}


@dataclass(frozen=True)
class Decoding:
    """How to decode: greedy when temperature is 0; `top_p` is the nucleus mass."""

    max_new_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0

    def identity(self) -> dict:
        return {"max_new_tokens": self.max_new_tokens, "temperature": self.temperature, "top_p": self.top_p}


def choose(logits: torch.Tensor, decoding: Decoding, seed: int, step: int, margin: float) -> tuple[int, bool]:
    """(token id, whether a change of the logits by less than the margin could not have changed it). logits: [V] float32."""
    if decoding.temperature == 0:
        top = logits.topk(2)
        return int(top.indices[0]), bool(top.values[0] - top.values[1] > margin)
    probability = torch.softmax(logits.double() / decoding.temperature, 0)
    cumulative = probability.cumsum(0)
    slack = margin / decoding.temperature
    sure = True
    for u in np.random.default_rng([seed, step]).random(64) * float(cumulative[-1]):
        token = min(int(torch.searchsorted(cumulative, u, right=True)), len(logits) - 1)
        below = float(cumulative[token - 1]) if token else 0.0
        sure = sure and min(u - below, float(cumulative[token]) - u) > slack * _spread(u)
        inside, clear = _in_nucleus(probability, token, decoding.top_p, slack)
        sure = sure and clear
        if inside:
            return token, sure
    return int(probability.argmax()), False


def _spread(u: float) -> float:
    """How far the cumulative mass at u can move, relative to the logits' slack: nothing at the ends, most in the middle."""
    return max(u * (1 - u), 1e-6)


def _in_nucleus(probability: torch.Tensor, token: int, top_p: float, slack: float) -> tuple[bool, bool]:
    """(in the nucleus, clearly so): a token is in it while the mass of strictly likelier tokens is below top_p."""
    if top_p >= 1:
        return True, True
    p = probability[token]
    mass = [float(probability[probability > p * factor].sum()) for factor in (1 - 2 * slack, 1.0, 1 + 2 * slack)]
    likely = mass[0] - float(p) if mass[0] > mass[1] else mass[0]
    inside = mass[1] < top_p
    return inside, (likely + slack < top_p if inside else mass[2] - slack >= top_p)
