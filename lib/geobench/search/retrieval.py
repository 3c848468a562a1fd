"""Hybrid retrieval over a query's own sources: BM25 and dense scores, normalised per query and mixed 0.3 to 0.7, then a reranker.

Where the paper is silent: scores are normalised by min-max over the query's chunks (all equal: all zero); ties keep the order of
the sources. The reranker's raw scores (logits, or cosines of a bi-encoder) order the candidates, never a squashed probability.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geobench.search.chunking import Chunk, chunk, require_room


@dataclass(frozen=True)
class Hit:
    """A chunk with its mixed first-stage score and the reranker's score."""

    chunk: Chunk
    mixed: float
    rerank: float


def min_max(scores) -> np.ndarray:
    """Scores mapped to [0, 1] over one query's chunks; all zero where they are equal."""
    scores = np.asarray(scores, dtype=float)
    spread = scores.max() - scores.min()
    return (scores - scores.min()) / spread if spread > 0 else np.zeros_like(scores)


def mix(sparse, dense, weight: float = 0.3) -> np.ndarray:
    """weight x min-max(sparse) + (1 - weight) x min-max(dense)."""
    return weight * min_max(sparse) + (1 - weight) * min_max(dense)


def bm25_scores(query: str, texts: list[str]) -> np.ndarray:
    """[texts] BM25 scores (bm25s, Lucene variant, English stop words)."""
    import bm25s

    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    tokens = [t for t in bm25s.tokenize(query, stopwords="en", return_ids=False, show_progress=False)[0] if t in index.vocab_dict]
    return index.get_scores(tokens) if tokens else np.zeros(len(texts))


class Embeddings:
    """Unit vectors of texts under one encoder, kept in a file: a text is embedded once, whatever its condition or place."""

    def __init__(self, encoder, path: Path | None = None):
        self.encoder, self.path = encoder, path
        self.vectors: dict[str, np.ndarray] = {}
        self.made = 0
        if path and path.exists():
            with np.load(path) as kept:
                self.vectors = {k: kept[k] for k in kept.files}

    def key(self, text: str) -> str:
        name = "|".join(f"{k}={v}" for k, v in sorted(self.encoder.identity().items()))
        return hashlib.sha256(f"{name}\n{text}".encode()).hexdigest()[:32]

    def __call__(self, texts: list[str]) -> np.ndarray:
        """[texts, D] unit vectors; only unknown texts reach the encoder."""
        keys = [self.key(t) for t in texts]
        new = dict.fromkeys(k for k in keys if k not in self.vectors)
        if new:
            wanted = [texts[keys.index(k)] for k in new]
            self.vectors |= dict(zip(new, self.encoder.embed(wanted)))
            self.made += len(wanted)
        return np.stack([self.vectors[k] for k in keys])

    def save(self) -> None:
        """Write all vectors, whole or not at all."""
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            partial = self.path.with_suffix(".partial.npz")
            np.savez(partial, **self.vectors)  # type: ignore[arg-type]  # keys are digests
            os.replace(partial, self.path)


class SearchEngine:
    """Chunks, retrieves and reranks; the embedded default uses MiniLM for both stages, which is a bi-encoder twice, not a cross-encoder."""

    def __init__(self, embeddings: Embeddings, reranker, params):
        self.embeddings, self.reranker, self.p = embeddings, reranker, params

    def identity(self) -> dict:
        names = ("chunk_tokens", "chunk_overlap", "sparse_weight", "candidates", "top")
        stages = {"encoder": self.embeddings.encoder.identity(), "reranker": self.reranker.identity()}
        return stages | {n: getattr(self.p, f"search_{n}") for n in names}

    def chunks(self, sources) -> list[Chunk]:
        """All chunks of the sources, in order."""
        tokenizer = self.embeddings.encoder.model.tokenizer
        require_room(self.embeddings.encoder.model, self.p.search_chunk_tokens)
        parts = [chunk(s.text, tokenizer, self.p.search_chunk_tokens, self.p.search_chunk_overlap, n) for n, s in enumerate(sources, 1)]
        return [c for part in parts for c in part]

    def search(self, query: str, sources) -> list[Hit]:
        """The `top` chunks, best first."""
        chunks = self.chunks(sources)
        texts = [c.text for c in chunks]
        vectors = self.embeddings([query, *texts])
        mixed = mix(bm25_scores(query, texts), vectors[1:] @ vectors[0], self.p.search_sparse_weight)
        first = sorted(range(len(chunks)), key=lambda i: (-mixed[i], i))[: self.p.search_candidates]
        scores = self._rerank(query, [texts[i] for i in first])
        hits = [Hit(chunks[i], float(mixed[i]), score) for i, score in zip(first, scores)]
        return sorted(hits, key=lambda h: (-h.rerank, h.chunk.document, h.chunk.number))[: self.p.search_top]

    def _rerank(self, query: str, texts: list[str]) -> list[float]:
        if self.reranker.identity() == self.embeddings.encoder.identity():  # the vectors are there already
            vectors = self.embeddings([query, *texts])
            return [float(s) for s in vectors[1:] @ vectors[0]]
        return self.reranker.relevance(query, texts)
