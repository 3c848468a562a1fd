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


def test_10000_records_leave_only_what_is_kept_of_them(tmp_path):
    """Written and read again; with `kept` a record's reply is on disk alone."""
    file, held, size = tmp_path / "r.jsonl", {}, 5000
    tracemalloc.start()
    with Records(file, {"a": 1}, ("n",), kept=("text_sha",)) as records:
        for n in range(10_000):
            records.append({"n": n, "text_sha": f"{n:016x}", "replies": [f"{n:0{size}d}"]})
            if n in (999, 9_999):
                held[n] = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    with Records(file, {"a": 1}, ("n",), kept=("text_sha",)) as records:
        assert len(records.done) == 10_000 and records.done[(7,)] == {"text_sha": f"{7:016x}"}
        resumed = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    grown, whole = (held[9_999] - held[999]) / 9_000, file.stat().st_size
    print(f"\n{grown:.0f} bytes in memory per record of {size}; most: {resumed / 1e6:.1f} MB for a file of {whole / 1e6:.0f} MB")
    assert grown < 600 and resumed < 0.2 * whole
