"""Decoding a group of prompts together: `grouped` with our cache for Llama-type decoders, `transformers_generate` for the rest.
Both ask the same `Chooser` for every token, so a text does not depend on how it was decoded."""

from functools import partial

import torch
from transformers import LogitsProcessor, LogitsProcessorList

from geobench.engines.decoding import MARGIN, choose
from geobench.kernels import decoder
from geobench.kernels.cache import Cache


class Chooser:
    """Chooses the next token of each prompt of a group, recomputing a row alone where the choice is close.

    engine: LocalModel. rows: prompt tokens. seeds: per row. stop(n, text): end row n early. `written[n]`: tokens so far.
    """

    def __init__(self, engine, rows, decoding, seeds, stop=None):
        self.engine, self.rows, self.decoding, self.seeds, self.stop = engine, rows, decoding, seeds, stop
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
        if self.stop and written and self.stop(n, self.engine.tokenizer.decode(written)):
            self.finish[n] = "stop"
            return None
        token, sure = choose(logits.float().cpu(), self.decoding, self.seeds[n], len(written), MARGIN[self.engine.dtype])
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


def grouped(engine, rows: list[list[int]], chooser: Chooser, keys: list | None = None) -> None:
    """Decode all rows to their ends; finished rows leave the batch once they are a quarter of it. keys: rows of one key begin alike."""
    active, limit, keys = list(range(len(rows))), chooser.decoding.max_new_tokens, keys or [None] * len(rows)
    kept = engine.beginnings
    cache = Cache(
        engine.model, rows, limit, before=lambda n: kept.of(keys[n], rows[n]), after=lambda n, whole: kept.keep(keys[n], rows[n], whole)
    )
    while active:
        with torch.inference_mode():
            logits = decoder.logits(engine.model, cache.hidden)
        alone = [partial(cache.alone, place, len(rows[n]), chooser.written[n]) for place, n in enumerate(active)]
        tokens = [chooser.take(*row) for row in zip(active, logits, alone)]
        going = [place for place, n in enumerate(active) if not chooser.finish[n]]
        if len(going) <= 0.75 * len(active):
            cache.keep(going) if going else None
            active, tokens = [active[place] for place in going], [tokens[place] for place in going]
        if going:
            cache.step([token or 0 for token in tokens])


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


def transformers_generate(engine, rows: list[list[int]], chooser: Chooser, keys: list | None = None) -> None:
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
