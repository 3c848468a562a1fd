"""Choosing the next token so that the text does not depend on the batch it was decoded in.

Batched and padded forwards differ from a lone one by rounding, and now and then that flips a choice. So a choice is taken from
the batched logits only when it is safe by a margin far above the rounding; otherwise the caller recomputes that row alone and
the choice is taken from there. Sampling is by Gumbel-max (Gumbel 1954): noise from a generator keyed by (seed, step) is added
to the logits and the best token of the nucleus is taken, so that, as in greedy decoding, only a near tie can flip a choice.
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


TINY = np.finfo(np.float32).tiny  # a draw of exactly 0, which float32 can give, would beat every logit


def choose(logits: torch.Tensor, decoding: Decoding, seed: int, step: int, margin: float) -> tuple[int, bool]:
    """(token id, whether a change of the logits by less than the margin could not have changed it). logits: [V] float32,
    on any device: a greedy choice fetches two of them, not the vocabulary."""
    if decoding.temperature == 0:
        top = logits.topk(2)
        return int(top.indices[0]), bool(top.values[0] - top.values[1] > margin)
    scaled, slack = logits.cpu().numpy() / decoding.temperature, margin / decoding.temperature
    scores = scaled - np.log(np.random.default_rng([seed, step]).standard_exponential(len(scaled), dtype=np.float32).clip(TINY))
    best, tokens = torch.from_numpy(scores).topk(min(64, len(scores)))
    nucleus = _Nucleus(scaled, decoding.top_p, slack)
    sure = True
    for place, token in enumerate(tokens.tolist()):
        inside, clear = nucleus.holds(token)
        sure = sure and clear
        if inside:
            rivals = tokens[place + 1 :][best[place + 1 :] > best[place] - slack].tolist()
            return token, sure and all(nucleus.holds(rival) == (False, True) for rival in rivals)
    return int(tokens[0]), False


class _Nucleus:
    """The smallest set of likeliest tokens that has the mass `top_p`: a token is in it while strictly likelier ones have less."""

    def __init__(self, scaled: np.ndarray, top_p: float, slack: float):
        self.scaled, self.top_p, self.slack = scaled, top_p, slack
        weight = np.exp(scaled - scaled.max()) if top_p < 1 else scaled
        self.probability = weight / weight.sum(dtype=np.float64) if top_p < 1 else weight

    def holds(self, token: int) -> tuple[bool, bool]:
        """(in the nucleus, clearly so)."""
        if self.top_p >= 1:
            return True, True
        mass = [self._above(self.scaled[token] + shift, token) for shift in (-self.slack, 0.0, self.slack)]
        inside = mass[1] < self.top_p
        return inside, mass[0] + self.slack < self.top_p if inside else mass[2] - self.slack >= self.top_p

    def _above(self, level: float, token: int) -> float:
        more = self.scaled > level
        more[token] = False
        return float(self.probability[more].sum(dtype=np.float64))
