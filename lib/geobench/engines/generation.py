"""Decoding a group of prompts together: `grouped` with our cache for Llama-type decoders, `transformers_generate` for the rest.
Both ask the same `Chooser` for every token, so a text does not depend on how it was decoded."""

from functools import partial

import torch
from transformers import LogitsProcessor, LogitsProcessorList

from geobench.engines.decoding import MARGIN, choose
from geobench.engines.drafts import Draft
from geobench.kernels import decoder
from geobench.kernels.cache import Cache


class Chooser:
    """Chooses the next token of each prompt of a group, recomputing a row alone where the choice is close.

    engine: LocalModel. rows: prompt tokens. seeds: per row. keys: rows of one key begin alike (None: no key). `written[n]`: tokens so far.
    """

    def __init__(self, engine, rows, decoding, seeds, keys=None):
        self.engine, self.rows, self.decoding, self.seeds = engine, rows, decoding, seeds
        self.keys = keys or [None] * len(rows)
        self.written: list[list[int]] = [[] for _ in rows]
        self.finish: list[str | None] = [None] * len(rows)
        configured = engine.model.generation_config.eos_token_id
        ends = configured if isinstance(configured, list) else [configured]
        self.ends = {t for t in (*ends, engine.tokenizer.eos_token_id) if t is not None}

    def take(self, n: int, logits: torch.Tensor, alone=None) -> int | None:
        """The token that row n gets next, or None once it is finished. logits: [V]; alone(): the same computed without a batch."""
        if self.finish[n]:
            return None
        written = self.written[n]
        token, sure = choose(logits.float(), self.decoding, self.seeds[n], len(written), MARGIN[self.engine.dtype])
        if not sure:
            lone = alone() if alone else self.engine.last_logits([*self.rows[n], *written])
            token, _ = choose(lone.cpu(), self.decoding, self.seeds[n], len(written), MARGIN[self.engine.dtype])
        if token in self.ends:
            self.finish[n] = "stop"
            return None
        written.append(token)
        if len(written) == self.decoding.max_new_tokens:
            self.finish[n] = "length"
        return token


def grouped(engine, rows: list[list[int]], chooser: Chooser) -> None:
    """Decode all rows to their ends; finished rows leave the batch once they are a quarter of it."""
    active, limit, keys, kept = list(range(len(rows))), chooser.decoding.max_new_tokens, chooser.keys, engine.beginnings
    cache = Cache(
        engine.model, rows, limit, before=lambda n: kept.of(keys[n], rows[n]), after=lambda n, whole: kept.keep(keys[n], rows[n], whole)
    )
    drafts = [Draft(kept.drafts(key), row) for key, row in zip(keys, rows)]
    with torch.inference_mode():
        first = decoder.logits(engine.model, cache.hidden)
    due = [_checked(chooser, cache, place, n, [], first[place : place + 1])[1] for place, n in enumerate(active)]
    while active:
        going = [place for place, n in enumerate(active) if not chooser.finish[n]]
        if len(going) <= 0.75 * len(active):
            cache.keep(going) if going else None
            active, due = [active[place] for place in going], [due[place] for place in going]
        if going:
            due = _step(engine, cache, chooser, active, due, drafts)


def _step(engine, cache: Cache, chooser: Chooser, active: list[int], due: list[int | None], drafts: list[Draft]) -> list[int | None]:
    """Append each row's due token and its draft, keep what the model would have written, and choose the tokens that are due then."""
    left = [0 if chooser.finish[n] else chooser.decoding.max_new_tokens - len(chooser.written[n]) - 1 for n in active]
    guessed = [drafts[n].guess(chooser.written[n], room) if room else [] for n, room in zip(active, left)]
    with torch.inference_mode():
        found = decoder.logits(engine.model, cache.extend([[token or 0, *guess] for token, guess in zip(due, guessed)]))
    start, accepted, coming = 0, [], []
    for place, (n, guess) in enumerate(zip(active, guessed)):
        over = bool(chooser.finish[n])  # waits in the batch: its place is written over and over
        right, token = _checked(chooser, cache, place, n, guess, found[start : start + 1 + len(guess)])
        drafts[n].learn(len(guess), right)
        start, accepted, coming = start + 1 + len(guess), [*accepted, 0 if over else 1 + right], [*coming, token]
    cache.accept(accepted)
    return coming


def _checked(chooser: Chooser, cache: Cache, place: int, n: int, guess: list[int], logits: torch.Tensor) -> tuple[int, int | None]:
    """(how many drafted tokens were right, the token after them). logits: [1 + draft, V].

    A row with a key may stand on another's beginning, computed to other last digits: its close choices are made without the cache.
    """
    alone = partial(cache.alone, place, len(chooser.rows[n]), chooser.written[n]) if chooser.keys[n] is None else None
    for right in range(len(guess) + 1):
        token = chooser.take(n, logits[right], alone)
        if chooser.finish[n] or right == len(guess) or token != guess[right]:
            break
    return right, token


class _Forced(LogitsProcessor):
    """Puts all mass on the chooser's token; on an end token when the row is finished."""

    def __init__(self, chooser: Chooser):
        self.chooser = chooser

    def __call__(self, input_ids, scores):
        forced = torch.full_like(scores, float("-inf"))
        for n, row in enumerate(scores):
            token = self.chooser.take(n, row)
            forced[n, min(self.chooser.ends) if token is None else token] = 0.0
        return forced


def transformers_generate(engine, rows: list[list[int]], chooser: Chooser) -> None:
    """Decode left-padded rows with the model's own generate, which shares nothing between them."""
    width, pad = max(map(len, rows)), engine.tokenizer.pad_token_id
    ids = torch.tensor([[pad] * (width - len(r)) + r for r in rows], device=engine.device)
    mask = torch.tensor([[0] * (width - len(r)) + [1] * len(r) for r in rows], device=engine.device)
    with torch.inference_mode():
        engine.model.generate(
            input_ids=ids, attention_mask=mask, max_new_tokens=chooser.decoding.max_new_tokens, do_sample=False, num_beams=1,
            pad_token_id=pad, eos_token_id=sorted(chooser.ends), logits_processor=LogitsProcessorList([_Forced(chooser)]),
            generation_config=None, temperature=None, top_p=None, top_k=None, repetition_penalty=None,
        )
