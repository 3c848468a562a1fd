"""10,000 records and 2,000 replies: memory stays flat."""

import tracemalloc

import pytest

from geobench.records import Records
from geobench.replies import ReplyStore

pytestmark = pytest.mark.slow


def test_the_reply_store_holds_nothing_in_memory(tmp_path):
    store = ReplyStore(tmp_path / "r.sqlite")
    reply, grown = {"text": "x" * 2000, "finish": "stop"}, []
    tracemalloc.start()
    for n in range(2000):
        store.put({"model": {"model": "m"}, "n": n}, reply, True, ("r", "m", 1, 1, 0.0))
        if n in (500, 1999):
            grown.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert grown[1] - grown[0] < 200_000 and len(list(store.rows())) == 2000


def test_10000_records_grow_by_their_own_size(tmp_path):
    tracemalloc.start()
    with Records(tmp_path / "r.jsonl", {"a": 1}, ("n",)) as records:
        for n in range(10_000):
            records.append({"n": n, "text": f"{n:0500d}"})
        held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 3 * (tmp_path / "r.jsonl").stat().st_size  # `done` keeps each record once
