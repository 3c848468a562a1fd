"""The reply store: what is served, what is not, and that nothing is lost between processes."""

import json
import multiprocessing
import sqlite3

import pytest

from geobench import replies
from geobench.__main__ import main
from geobench.errors import GeoBenchError
from geobench.replies import ReplyStore, key_of

ASKED = {
    "kind": "generate", "model": {"model": "mini", "revision": "r1"}, "template": None, "decoding": {"temperature": 0}, "sample": 0,
    "messages": [{"role": "user", "content": "\u00e9 \u2028 hi"}],
}  # fmt: skip
REPLY = {"text": "1. Alpha", "finish": "stop"}


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("GEOBENCH_REPLIES", str(tmp_path / "kept" / "replies.sqlite"))
    return ReplyStore()


def test_a_reply_is_found_again_and_any_change_misses(store):
    store.put(ASKED, REPLY, True)
    assert ReplyStore().get(key_of(dict(reversed(ASKED.items())))) == REPLY
    for name, value in {"model": {"model": "mini", "revision": "r2"}, "template": "t", "messages": [], "decoding": {}, "sample": 1}.items():
        assert store.get(key_of(ASKED | {name: value})) is None


def test_what_may_not_be_served_is_kept_but_not_served_and_replaces_nothing_that_may(store):
    store.put(ASKED, {"text": "", "finish": "stop"}, False)
    assert store.get(key_of(ASKED)) is None and len(list(store.rows())) == 1
    store.put(ASKED, REPLY, True)
    store.put(ASKED, {"text": "1. Al", "finish": "length"}, False)
    assert store.get(key_of(ASKED)) == REPLY and len(list(store.rows())) == 1


def test_a_reply_and_its_cost_land_together_or_not_at_all(store):
    with pytest.raises(GeoBenchError, match="could not write .NOT NULL constraint failed"):
        store.put(ASKED, REPLY, True, ("run", "mini", 1, 1, None))
    assert store.get(key_of(ASKED)) is None and store.spent("run") == 0
    store.put(ASKED, REPLY, True, ("run", "mini", 10, 2, 0.25))
    store.pay("k", "run", "mini", 1, 1, 0.5, known=False)
    assert store.spent("run") == 0.75 and store.spent("other") == 0


def test_it_is_in_write_ahead_mode(store):
    assert sqlite3.connect(store.file).execute("pragma journal_mode").fetchone() == ("wal",)


def _write(file, part):
    store = ReplyStore(file)
    for n in range(30):
        store.put(ASKED | {"sample": n}, REPLY | {"by": part}, True, ("run", "mini", 1, 1, 0.001))


def test_processes_write_at_once(store):
    context = multiprocessing.get_context("spawn")
    parts = [context.Process(target=_write, args=(store.file, n)) for n in range(2)]
    [p.start() for p in parts], [p.join() for p in parts]
    assert [p.exitcode for p in parts] == [0, 0]
    assert len(list(store.rows())) == 30 and store.spent("run") == pytest.approx(0.06)


def test_a_file_that_is_no_store_is_named(tmp_path):
    (tmp_path / "x").write_text("no database, and long enough to be read as a header of one" * 20)
    with pytest.raises(GeoBenchError, match="x: not a usable reply store"):
        ReplyStore(tmp_path / "x")


def test_a_lone_surrogate_is_kept_as_it_came(store, tmp_path):
    asked, reply = ASKED | {"messages": [{"role": "user", "content": "x\ud800"}]}, {"text": "\udfff \\ud800"}
    store.put(asked, reply, True)
    assert ReplyStore().get(key_of(asked)) == reply
    assert main(["replies", "export", "--to", str(tmp_path / "out.jsonl")]) == 0
    assert json.loads((tmp_path / "out.jsonl").read_text("utf-8"))["reply"] == reply


@pytest.mark.parametrize(
    "made,said",
    [
        ("create table people (name text)", "not a reply store: it holds a table 'people' of 'name'"),
        ("create table replies (a int)", "not a reply store: it holds a table 'replies' of 'a'"),
    ],
)
@pytest.mark.parametrize("action", ["show", "prune", "export"])
def test_another_database_is_refused_and_stays_as_it_is(tmp_path, monkeypatch, capsys, action, made, said):
    file = tmp_path / "other.sqlite"
    base = sqlite3.connect(file)
    base.execute(made)
    base.commit()
    base.close()
    before = file.read_bytes()
    monkeypatch.setenv("GEOBENCH_REPLIES", str(file))
    assert main(["replies", action, "--to", str(tmp_path / "out")]) == 2
    shown = capsys.readouterr().err
    assert said in shown and shown.count("\n") == 1 and file.read_bytes() == before


@pytest.mark.parametrize("action", ["show", "prune", "export"])
def test_a_file_that_is_no_database_is_refused_by_the_command(tmp_path, monkeypatch, capsys, action):
    (tmp_path / "x.sqlite").write_bytes(b"not a database " * 100)
    monkeypatch.setenv("GEOBENCH_REPLIES", str(tmp_path / "x.sqlite"))
    assert main(["replies", action, "--to", str(tmp_path / "out")]) == 2
    assert "x.sqlite: not a usable reply store" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "link"])
def test_an_export_never_goes_onto_the_store_itself(store, capsys, ending):
    store.put(ASKED, REPLY, True)
    to = store.file.with_name(store.file.name + ending)
    if ending == "link":
        to = store.file.parent / "link.jsonl"
        to.symlink_to(store.file)
    assert main(["replies", "export", "--to", str(to)]) == 2
    assert "replies export: expected --to FILE.jsonl, a file that is not the store, got" in capsys.readouterr().err
    assert ReplyStore().get(key_of(ASKED)) == REPLY


def test_rows_that_are_no_json_are_named(store, capsys):
    for asked, reply in (('{"model": {"model": "mini"}}', "[" * 5000), ("no json", "{}")):
        with store._db:
            store._db.execute("insert or replace into replies values ('k', ?, ?, 1)", (asked, reply))
        assert main(["replies", "export", "--to", str(store.file.parent / "out.jsonl")]) == 2
        assert "replies.sqlite: reply 'k': expected JSON, got" in capsys.readouterr().err
    assert main(["replies", "show"]) == 2 and "replies.sqlite: could not read (malformed JSON)" in capsys.readouterr().err


def test_the_command_shows_exports_and_prunes(store, tmp_path, capsys):
    store.put(ASKED, REPLY, True, ("/runs/a", "mini", 10, 2, 0.25))
    store.put(ASKED | {"sample": 1}, {"text": "", "finish": "stop"}, False)
    store.put(ASKED | {"model": {"model": "maxi"}}, REPLY, True)
    assert main(["replies", "show"]) == 0
    shown = capsys.readouterr().out
    assert "model mini  replies 2  served 1" in shown and "model maxi  replies 1" in shown
    assert "run /runs/a  model mini  requests 1  tokens_in 10  tokens_out 2  dollars 0.2500" in shown
    assert main(["replies", "export"]) == 2 and "--to FILE" in capsys.readouterr().err
    assert main(["replies", "export", "--model", "mini", "--to", str(tmp_path / "out.jsonl")]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").split("\n")[:-1]]
    assert sorted(r["served"] for r in rows) == [False, True] and all(key_of(r["asked"]) == r["key"] for r in rows)
    assert main(["replies", "prune"]) == 0 and "1 replies deleted" in capsys.readouterr().out
    assert main(["replies", "prune", "--model", "mini"]) == 0 and [r["asked"]["model"]["model"] for r in store.rows()] == ["maxi"]
    assert ReplyStore().spent("/runs/a") == 0.25  # what was paid stays known


def test_a_store_that_another_process_writes_cannot_be_pruned_and_says_so(store):
    store.put(ASKED, REPLY, False)
    store._db.execute("pragma busy_timeout=10")
    other = sqlite3.connect(store.file, isolation_level=None)
    other.execute("begin immediate")
    for act in (store.prune, lambda: store.pay("k", "run", "mini", 1, 1, 0.5)):
        with pytest.raises(GeoBenchError, match=r"replies.sqlite: could not (prune|write) \(database is locked\)"):
            act()
    other.execute("rollback")
    assert store.prune() == 1


def test_no_store_yet(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GEOBENCH_REPLIES", str(tmp_path / "none.sqlite"))
    assert main(["replies", "show"]) == 0 and "no replies at" in capsys.readouterr().out
    assert not replies.store_file().exists()
