"""Cross-source disagreement: does a chunk give a figure for a matter on which another source gives a different one?

Beyond the paper, which names it as future work. For a sentence with numbers: the largest cosine to a sentence of another source whose
numbers share none with it (conflict), minus the largest to one that shares some (support, at least 0). A chunk's score is its highest
sentence's, and 0 without a sentence that has numbers. It needs no training and no knowledge; it cannot see claims that turn on a name or
a phrase, and it cannot say which of two sources is right: the honest one is flagged as well, so support from a third source decides.
"""

import re

import numpy as np

from geobench.errors import GeoBenchError
from geobench.search.defences.base import Decision, by_score
from geobench.search.keys import normalise, sentences

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
LEAST_WORDS = 4


def numbers(sentence: str) -> frozenset[str]:
    """Numbers of a sentence, words as digits, list numbers at its start left out."""
    return frozenset(NUMBER.findall(normalise(re.sub(r"^\W*\d+[.)]\s+", "", sentence))))


class Disagreement:
    """`embed` maps texts to unit rows; `tau` is set beforehand. `decide` needs each chunk's source beside it."""

    name = "disagreement"

    def __init__(self, embed, tau: float, identity: dict | None = None):
        self.embed, self.tau, self._identity = embed, tau, identity or {}

    def identity(self) -> dict:
        return {"defence": self.name, "tau": self.tau, "least_words": LEAST_WORDS, **self._identity}

    def scores(self, texts: list[str], documents: list[int] | None = None) -> np.ndarray:
        """[texts] conflict minus support, from -1 to 1; documents: the source of each chunk, GeoBenchError without them."""
        if documents is None or len(documents) != len(texts):
            given = "none" if documents is None else len(documents)
            raise GeoBenchError(f"disagreement: expected the source of each of {len(texts)} chunks, got {given}")
        rows = [(n, s, numbers(s)) for n, text in enumerate(texts) for s in sentences(text) if len(s.split()) >= LEAST_WORDS]
        rows = [r for r in rows if r[2]]
        made = np.zeros(len(texts))
        if not rows:
            return made
        vectors = self.embed([s for _, s, _ in rows])
        cosines = vectors @ vectors.T
        source = np.array([documents[n] for n, *_ in rows])
        shared = np.array([[bool(a[2] & b[2]) for b in rows] for a in rows])
        best: dict[int, float] = {}
        for i, (n, *_) in enumerate(rows):
            other = source != source[i]
            conflict = cosines[i][other & ~shared[i]].max(initial=0.0)
            support = cosines[i][other & shared[i]].max(initial=0.0)
            best[n] = max(best.get(n, -1.0), float(conflict - support))
        for n, value in best.items():
            made[n] = value
        return made

    def decide(self, texts: list[str], documents: list[int] | None = None) -> list[Decision]:
        return [by_score(float(s), self.tau) for s in self.scores(texts, documents)]
