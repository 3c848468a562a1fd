"""Perplexity of a description under a reference LM: exp of the mean next-token loss of the whole text with BOS, cut at the
context with a flag. The perplexity ratio is the edited text's over the original's, averaged arithmetically over targets."""

from collections.abc import Iterator

import numpy as np

from geobench.errors import GeoBenchError


def identity(engine, limit: int) -> dict:
    """What determines perplexities; limit: tokens of a text that count."""
    return {**engine.identity(), "detector": "perplexity", "limit": limit}


def score(engine, texts: list[str], limit: int = 2048, names: list[str] | None = None) -> Iterator[dict]:
    """{"score": perplexity, "tokens": count, "cut": whether only the first `limit` tokens were read} per text, in order.

    GeoBenchError, before anything is computed, for an empty text: it has no perplexity.
    """
    for n, text in enumerate(texts):
        if not text.strip():
            raise GeoBenchError(f"{names[n] if names else f'text {n + 1}'}: the text is empty, so that it has no perplexity")
    for logprobs, cut in engine.sequence_logprobs(texts, limit):
        yield {"score": float(np.exp(-logprobs.astype(np.float64).mean())), "tokens": len(logprobs), "cut": cut}
