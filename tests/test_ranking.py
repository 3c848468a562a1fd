"""Which orders a ranker is run under, and that too long a prompt stops it before it starts."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from geobench.errors import GeoBenchError
from geobench.orders import evaluation_orders
from geobench.params import load
from geobench.rankers.attention import AttentionRanker
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker
from geobench.ranking import Protocol, protocol


@pytest.mark.parametrize("name, free, mode, count, own", [
    ("smollm2-135m:attention", False, "shared", 4, False),
    ("smollm2-135m:attention", False, "released", 4, True),
    ("smollm2-135m:generate", False, "shared", 2, False),
    ("bm25", True, "released", 1, False),
])  # fmt: skip
def test_orders_of_a_ranker(name, free, mode, count, own):
    p = load("smoke", {"orders": 4, "generate_orders": 2, "orders_mode": mode})
    assert protocol(p, SimpleNamespace(name=name, order_free=free)) == Protocol(count, own, 0)


def test_all_targets_share_orders_unless_released(cameras):
    shared = Protocol(3, False, 0)
    want = tuple(tuple(map(int, order)) for order in evaluation_orders(cameras.key, 4, 3, 0))
    assert shared.orders(cameras, 1) == shared.orders(cameras, None) == want
    released = Protocol(3, True, 0)
    assert released.orders(cameras, 1) != released.orders(cameras, 2)
    assert released.orders(cameras, 1)[0] == released.orders(cameras, 2)[0] == (0, 1, 2, 3)  # file order first


@pytest.mark.parametrize("kind", [AttentionRanker, GenerateRanker])
def test_a_prompt_longer_than_the_context_is_named(tiny_model, cameras, kind):
    ranker = kind("t", tiny_model("llama"))
    ranker.fit(Job(cameras, ((0, 1, 2, 3),)))
    with pytest.raises(GeoBenchError, match=r"tests/cameras item 2 \(Beta Two\), tap: \d{4} tokens .* do not fit the 1024"):
        ranker.fit(replace(Job(cameras, ((0, 1, 2, 3),)), target=2, text="far too long " * 400, variant="tap"))


def test_what_is_not_read_is_warned_of_and_recorded(kitchen_run, monkeypatch):
    from geobench import ranking
    from geobench.editing import make_edits
    from geobench.rankers.pointwise import PointwiseRanker
    from geobench.records import read_records

    make_edits(kitchen_run, ["injection"])

    def opened(*_):
        def measure(query, passage, what):
            return f"{what}: 300 tokens of which `short` reads 256" if "first" in passage else None

        return PointwiseRanker("bm25", {}, lambda q, passages: [float(len(p)) for p in passages], measure=measure)

    monkeypatch.setattr(ranking, "open_for", opened)
    said = r"bm25: \d passages are longer than it reads, and their ends are not seen; the first: kitchen/.*injection"
    with pytest.warns(UserWarning, match=said):
        ranking.rank_all(kitchen_run, "bm25")
    folder = kitchen_run.folder / "ranks" / "bm25"
    assert all("reads 256" in r["cut"][0] for r in read_records(folder / "injection.jsonl"))
    assert "cut" not in read_records(folder / "clean.jsonl")[0]
