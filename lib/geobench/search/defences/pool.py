"""The guard's training pool: triples cut into chunks, checked, split by topic, with borderline ID documents told apart."""

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np

from geobench.errors import GeoBenchError
from geobench.search.chunking import chunk
from geobench.search.corpus import Category

BORDERLINE = 0.98  # an ID text this close to its original hardly says anything new: a negative, never a positive
CATEGORIES = get_args(Category)


@dataclass(frozen=True)
class Part:
    """One chunk of a document: `state` is clean, ip, id or control; `labels` are the attack categories of its document."""

    name: str
    topic: str
    state: str
    labels: tuple[str, ...]
    text: str


def check_triples(triples) -> None:
    """Refuse a pool whose IP text is its clean text, with a label unknown to the corpus, or with fewer than two categories."""
    for one in triples:
        if " ".join(one.ip.split()) == " ".join(one.clean.split()):
            raise GeoBenchError(f"training part `{one.name}`: the IP text equals the clean text; expected a rewrite")
        for label in one.categories:
            if label not in CATEGORIES:
                known = ", ".join(CATEGORIES)
                raise GeoBenchError(f"training part `{one.name}`: unknown attack category `{label}`; expected one of {known}")
    labels = sorted({label for one in triples for label in one.categories})
    if len(labels) < 2:
        raise GeoBenchError(f"training part: expected ID documents of two categories or more, got {', '.join(labels) or 'none'}")


def parts(triples, tokenizer, size: int, overlap: int, states=("clean", "ip", "id", "control")) -> list[Part]:
    """Chunks of every document in the given states, document by document."""
    made = []
    for one in triples:
        for state in (s for s in states if getattr(one, s) is not None):
            cut = chunk(getattr(one, state), tokenizer, size, overlap)
            made += [Part(one.name, one.topic, state, tuple(one.categories), c.text) for c in cut]
    return made


def split(triples, share: float, seed: int) -> tuple[list, list]:
    """(training, held out) triples, drawn by topic: no topic is in both. At least one topic is held out."""
    topics = sorted({t.topic for t in triples})
    if len(topics) < 2:
        raise GeoBenchError(f"training part: expected two topics or more to hold one out, got {len(topics)}")
    drawn = np.random.default_rng(seed).permutation(len(topics))[: max(1, math.floor(share * len(topics)))]
    out = {topics[n] for n in drawn}
    return [t for t in triples if t.topic not in out], [t for t in triples if t.topic in out]


def folds(triples, count: int, seed: int) -> list[tuple[list, list]]:
    """`count` (training, left out) pairs; every topic is left out once."""
    topics = sorted({t.topic for t in triples})
    order = np.random.default_rng(seed + 1).permutation(len(topics))
    place = {topics[t]: n % count for n, t in enumerate(order)}
    return [([t for t in triples if place[t.topic] != f], [t for t in triples if place[t.topic] == f]) for f in range(count)]


def borderline(triples, embed) -> set[str]:
    """Names of triples whose ID text has a cosine above 0.98 to its clean text; `embed`: texts -> unit rows, untrained."""
    if not triples:
        return set()
    clean, changed = embed([t.clean for t in triples]), embed([t.id for t in triples])
    return {t.name for t, c in zip(triples, (clean * changed).sum(axis=1)) if c > BORDERLINE}
