"""Hybrid scores by hand, BM25 against bm25s' own retrieval, and what is embedded how often."""

from types import SimpleNamespace

import numpy as np
import pytest

from geobench.params import load
from geobench.search.corpus import Source
from geobench.search.retrieval import Embeddings, SearchEngine, bm25_scores, min_max, mix


def test_min_max_and_mix_by_hand():
    assert min_max([1, 3, 2]).tolist() == [0, 1, 0.5]
    assert min_max([2, 2]).tolist() == [0, 0]
    np.testing.assert_allclose(mix([0, 2, 4], [0.9, 0.5, 0.1], 0.3), [0.7, 0.5, 0.3])
    np.testing.assert_allclose(mix([0, 0, 0], [0.1, 0.3, 0.2], 0.3), [0, 0.7, 0.35])


def test_bm25_against_the_library():
    import bm25s

    texts = ["the lake is deep", "a kite in the wind", "the deep lake and the deep sea"]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    order, scores = index.retrieve(bm25s.tokenize("deep lake", stopwords="en", show_progress=False), k=3, show_progress=False)
    ours = bm25_scores("deep lake", texts)
    np.testing.assert_allclose(ours[order[0]], scores[0], rtol=1e-6)
    assert ours[1] == 0 and bm25_scores("Wie tief ist der See", texts).tolist() == [0, 0, 0]


@pytest.fixture
def engine(letters, tmp_path):
    params = load("smoke", {"search_chunk_tokens": 30, "search_chunk_overlap": 5, "search_top": 3})
    return SearchEngine(Embeddings(letters, tmp_path / "e.npz"), letters, params)


def sources(last="zebra zoo zigzag"):
    texts = ["apple pie and apple jam", "boats on the bay", "cats and cots", "dogs dig", last]
    return [Source(url=f"https://x.example/{n}", title=str(n), text=t) for n, t in enumerate(texts)]


def test_the_best_chunk_comes_first_and_only_the_changed_source_is_embedded_again(engine):
    hits = engine.search("apple jam", sources())
    assert hits[0].chunk.document == 1 and len(hits) == 3
    before = len(engine.embeddings.encoder.seen)
    engine.search("apple jam", sources("apple apple jam"))
    assert engine.embeddings.encoder.seen[before:] == ["apple apple jam"]


def test_vectors_survive_on_disk(engine, tmp_path):
    engine.search("apple jam", sources())
    engine.embeddings.save()
    seen = len(engine.embeddings.encoder.seen)
    again = Embeddings(engine.embeddings.encoder, tmp_path / "e.npz")
    assert again(["boats on the bay"]).shape == (1, 26) and len(again.encoder.seen) == seen


def test_a_query_in_another_language_still_gets_chunks(engine):
    assert len(engine.search("Wie tief ist der See?", sources())) == 3


@pytest.mark.parametrize("kind", ["bi_encoder", "cross_encoder"])
def test_another_encoder_reranks_by_its_own_scores(engine, kind):
    class Shortest:
        spec = SimpleNamespace(kind=kind)

        def identity(self):
            return {"model": "shortest"}

        def relevance(self, query, texts):
            return [-float(len(t)) for t in texts]

    other = SearchEngine(engine.embeddings, Shortest(), engine.p)
    assert [h.chunk.text for h in other.search("apple jam", sources())] == ["dogs dig", "cats and cots", "boats on the bay"]
