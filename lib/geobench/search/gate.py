"""Quality gate of rewrites: Q = geometric mean of four sub-scores in [0, 1]; any zero makes Q zero; Q >= 0.65 enters.

The paper names the sub-scores and not their formulas; these are ours.
  similarity  s = cosine of the mean chunk embeddings of rewrite and original; 1 within the condition's range, falling linearly to 0
              over 0.25 below it and 0.02 above it. Ranges: IP [0.75, 1], ID [0.60, 0.98] (an ID text above it hardly says anything new).
  length      l = |ln(words of the rewrite / words of the original)|; 1 up to ln 1.35, falling linearly to 0 at ln 3.
  perplexity  p = ln(perplexity of the rewrite / of the original) under the reference model; 1 up to ln 1.25, falling to 0 at ln 4.
  naturalness n = log-odds of yes for the rewrite minus those for the original; min(1, 2 / (1 + exp(-n))).
"""

import math

import numpy as np

SIMILARITY = {"ip": (0.75, 1.0), "id": (0.60, 0.98)}
BELOW, ABOVE = 0.25, 0.02
LENGTH = (math.log(1.35), math.log(3))
PERPLEXITY = (math.log(1.25), math.log(4))
PARTS = ("similarity", "length", "perplexity", "naturalness")


def _fall(value: float, full: float, none: float) -> float:
    """1 up to `full`, 0 from `none` on, linear between."""
    return float(np.clip((none - value) / (none - full), 0, 1))


def similarity_score(cosine: float, condition: str) -> float:
    """In [0, 1], from the cosine to the original; the wanted range depends on the condition."""
    low, high = SIMILARITY[condition]
    return min(_fall(low - cosine, 0, BELOW), 1.0 if high >= 1 else _fall(cosine - high, 0, ABOVE))


def length_score(words: int, original: int) -> float:
    """In [0, 1], from the words of the text and of the original."""
    return _fall(abs(math.log(words / original)), *LENGTH) if words and original else 0.0


def perplexity_score(perplexity: float, original: float) -> float:
    """In [0, 1], from the perplexities of the text and of the original."""
    return _fall(math.log(perplexity / original), *PERPLEXITY)


def naturalness_score(log_odds: float, original: float) -> float:
    """From the embedded judge's log-odds, relative to the original's."""
    return min(1.0, 2 / (1 + math.exp(-max(min(log_odds - original, 50), -50))))


def quality(parts: dict[str, float]) -> float:
    """Geometric mean of the four sub-scores."""
    values = [parts[p] for p in PARTS]
    return 0.0 if min(values) <= 0 else float(np.exp(np.mean(np.log(values))))


def reason(parts: dict[str, float], threshold: float) -> str:
    """Empty where the text passes; else the weakest sub-score, in words a rewriter can act on."""
    if quality(parts) >= threshold:
        return ""
    weakest = min(PARTS, key=lambda p: (parts[p], p))
    advice = {
        "similarity": "the text strays from the original (or hardly changes it): stay on its subject and facts",
        "length": "the length differs too much from the original: keep it within a third",
        "perplexity": "the wording is hard to predict: write plain, fluent sentences",
        "naturalness": "the text does not read like a page written by a person: fewer fragments and lists",
    }[weakest]
    return f"{weakest} {parts[weakest]:.2f}: {advice}"


def assess(rows: list[dict], embeddings, engine, tokenizer_limit: int, limit: int = 2048) -> list[dict]:
    """Measures of texts: rows of {"text", "name"} -> document vector, words, perplexity, naturalness log-odds."""
    from geobench.detectors import perplexity
    from geobench.search import naturalness
    from geobench.search.chunking import chunk

    texts = [r["text"] for r in rows]
    vectors = []
    for text in texts:
        parts = embeddings([c.text for c in chunk(text, embeddings.encoder.model.tokenizer, tokenizer_limit, 0)]).mean(0)
        vectors.append(parts / np.linalg.norm(parts))
    ppl = [r["score"] for r in perplexity.score(engine, texts, limit)]
    odds = naturalness.score(engine, texts, [r["name"] for r in rows])
    return [{"vector": v, "words": len(t.split()), "perplexity": p, "log_odds": o} for t, v, p, o in zip(texts, vectors, ppl, odds)]


def parts_of(rewrite: dict, original: dict, condition: str) -> dict[str, float]:
    """The four sub-scores of a measured rewrite against its measured original."""
    return {
        "similarity": similarity_score(float(rewrite["vector"] @ original["vector"]), condition),
        "length": length_score(rewrite["words"], original["words"]),
        "perplexity": perplexity_score(rewrite["perplexity"], original["perplexity"]),
        "naturalness": naturalness_score(rewrite["log_odds"], original["log_odds"]),
    }
