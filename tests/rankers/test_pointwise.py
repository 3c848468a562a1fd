"""Pointwise rankers: BM25 by hand, a cross-encoder, a causal LM; only the edited item is scored anew."""

import math

import numpy as np
import pytest

from geobench.lists import Item, RankList
from geobench.rankers import pointwise
from geobench.rankers.base import Job, ranks_of

ORDERS = ((0, 1, 2, 3), (3, 2, 1, 0))


def test_ties_share_the_better_rank():
    assert ranks_of([1.0, 3.0, 1.0, 2.0]) == [3, 1, 3, 2]


def test_bm25_by_hand():
    items = (Item("Alpha", "camera lens"), Item("Beta", "camera camera zoom"), Item("Gamma", "tripod"))
    (_, ranking), = pointwise.bm25("bm25").rank([Job(RankList("t", "l", "camera", items), ORDERS[:1])])
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    lengths = [3, 4, 2]
    want = [idf * f / (f + 1.5 * (0.25 + 0.75 * n / 3)) for f, n in zip([1, 2, 0], lengths)]
    assert np.allclose(ranking.scores[0], want, atol=1e-5)
    assert ranking.ranks == [[2, 1, 3]]


def test_bm25_without_a_known_word_ties_all():
    items = (Item("Alpha", "lens"), Item("Beta", "zoom"))
    (_, ranking), = pointwise.bm25("bm25").rank([Job(RankList("t", "l", "kettle", items), ((0, 1),))])
    assert ranking.ranks == [[1, 1]] and ranking.scores == [[0.0, 0.0]]


def test_only_the_edited_item_is_scored_anew(cameras):
    asked = []

    def score(query, passages):
        asked.append(passages)
        return [float(len(p)) for p in passages]

    ranker = pointwise.PointwiseRanker("x", {}, score)
    jobs = [Job(cameras, ORDERS), Job(cameras, ORDERS, 3, "Longer " * 20), Job(cameras, ORDERS, 1, "Short.")]
    out = [r for _, r in ranker.rank(jobs)]
    assert out[0].ranks[0] == out[0].ranks[1] == [3, 1, 4, 2]
    assert out[1].ranks[0][2] == 1
    assert asked[-1] == ["Alpha One: Short."] and sum(len(p) == 1 for p in asked) == 2


@pytest.mark.parametrize("which", ["cross_encoder", "llama"])
def test_an_edited_list_scores_as_if_clean(tiny_model, cameras, which):
    engine = tiny_model(which)
    ranker = pointwise.encoder("c", engine, "cross_encoder") if which == "cross_encoder" else pointwise.causal_cross_encoder("c", engine)
    items = list(cameras.items)
    items[1] = Item(items[1].name, "Brand new text")
    (_, edited), = ranker.rank([Job(cameras, ORDERS, 2, "Brand new text")])
    (_, clean), = ranker.rank([Job(RankList("tests", "other", "camera", tuple(items)), ORDERS)])
    assert np.allclose(edited.scores, clean.scores, atol=1e-4)
    assert len(set(edited.scores[0])) == 4 and edited.ranks[0] == edited.ranks[1]


def test_what_an_encoder_does_not_read_is_named(tiny_model, cameras):
    engine = tiny_model("cross_encoder")
    ranker = pointwise.encoder("c", engine, "cross_encoder")
    assert engine.limit == 1024 and ranker.fit(Job(cameras, ORDERS)) == []
    query = len(engine.model.tokenizer("I am looking for a camera.", "Beta Two: ")["input_ids"])
    (said,) = ranker.fit(Job(cameras, ORDERS, 2, "zebra " * 900, "padding"))
    tokens = engine.tokens("I am looking for a camera.", "Beta Two: " + " ".join(["zebra"] * 900))
    assert tokens > 1024 + query and said.startswith("tests/cameras item 2 (Beta Two), padding: ")
    assert said.endswith(f" {tokens} tokens of which `tiny-cross_encoder` reads 1024")
    (_, cut), = ranker.rank([Job(cameras, ORDERS, 2, "zebra " * 900, "padding")])
    (_, same), = ranker.rank([Job(cameras, ORDERS, 2, "zebra " * 900 + "quiet", "padding")])
    assert cut.scores == same.scores  # as it says: the end is not seen


def test_a_causal_cross_encoder_refuses_what_does_not_fit(tiny_model, cameras):
    from geobench.errors import GeoBenchError

    ranker = pointwise.causal_cross_encoder("c", tiny_model("llama"))
    assert ranker.fit(Job(cameras, ORDERS)) == [] and pointwise.bm25("bm25").fit(Job(cameras, ORDERS, 2, "word " * 10**5)) == []
    with pytest.raises(GeoBenchError, match=r"tests/cameras item 2 \(Beta Two\), padding: \d+ tokens do not fit the 1024 of `tiny-llama`"):
        ranker.fit(Job(cameras, ORDERS, 2, "zebra " * 1100, "padding"))
