"""The reply store: every reply that was paid for, kept once and shared by all runs, with what it cost whom.

SQLite in write-ahead mode: several processes read and write it at once, and a reply and its cost land together or not at all.
A reply is addressed by what determines it (model and revision, template, messages, decoding, sample); a change of any of these
misses. Empty, cut-off and filtered replies are kept to be looked at, but never served.
"""

import hashlib
import json
import os
import sqlite3
import threading
from contextlib import contextmanager
from pathlib import Path

from geobench import paths
from geobench.errors import GeoBenchError, came

TABLES = """
create table if not exists replies (key text primary key, asked text not null, reply text not null, served integer not null);
create table if not exists costs (
  number integer primary key autoincrement, run text not null, model text not null, key text not null, tokens_in integer not null,
  tokens_out integer not null, dollars real not null, known integer not null);
create index if not exists costs_run on costs (run);
"""
COLUMNS = {
    "replies": {"key", "asked", "reply", "served"},
    "costs": {"number", "run", "model", "key", "tokens_in", "tokens_out", "dollars", "known"},
}


def store_file() -> Path:
    """GEOBENCH_REPLIES, else replies.sqlite in the cache folder."""
    return Path(os.environ.get("GEOBENCH_REPLIES", paths.CACHE / "replies.sqlite"))


def key_of(asked: dict) -> str:
    """SHA-256 of what determines a reply, as canonical JSON."""
    return hashlib.sha256(_json(asked).encode()).hexdigest()


def _json(value) -> str:
    """Canonical JSON; a lone surrogate, which SQLite cannot hold, stands as its escape and comes back as itself."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace").decode("utf-8")

OF_MODEL = "case when json_valid(asked) then json_extract(asked, '$.model.model') = ? end"  # a damaged row is no model's


class ReplyStore:
    """An open store. `get` serves a reply; `put` keeps one with its cost; `spent` sums what a run has paid or may have."""

    def __init__(self, file: Path | None = None):
        self.file = Path(file or store_file())
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        try:
            self._db = sqlite3.connect(self.file, timeout=60, isolation_level="IMMEDIATE", check_same_thread=False)
            self._require_ours()
            self._db.execute("pragma journal_mode=wal")
            self._db.execute("pragma synchronous=normal")
            self._db.executescript(TABLES)
        except sqlite3.DatabaseError as error:
            raise GeoBenchError(f"{self.file}: not a usable reply store ({error}); move it away, or set GEOBENCH_REPLIES") from error

    def _require_ours(self) -> None:
        """GeoBenchError for a database with tables that are not the store's, before anything of it is changed."""
        for (table,) in self._db.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite%'").fetchall():
            columns = {row[1] for row in self._db.execute("select * from pragma_table_info(?)", (table,))}
            if COLUMNS.get(table) != columns:
                self._db.close()
                found = f"a table {came(table, 40)} of {came(', '.join(sorted(columns)))}"
                raise GeoBenchError(f"{self.file}: not a reply store: it holds {found}; set GEOBENCH_REPLIES to the store")

    def get(self, key: str) -> dict | None:
        """The reply of this key, if there is one that may be served."""
        rows = self._read("select reply from replies where key = ? and served", (key,))
        return self._parsed(key, rows[0][0]) if rows else None

    def _parsed(self, key: str, text: str) -> dict:
        try:
            return json.loads(text)
        except (ValueError, TypeError, RecursionError):
            raise GeoBenchError(f"{self.file}: reply {came(key, 64)}: expected JSON, got {came(text)}") from None

    def put(self, asked: dict, reply: dict, served: bool, cost: tuple | None = None, instead_of: int | None = None) -> None:
        """Keep a reply and its cost (see `pay`) in one transaction; a served reply is never replaced by one that may not be."""
        row = (key_of(asked), _json(asked), _json(reply), int(served))
        keep = (
            "insert into replies values (?,?,?,?) on conflict(key) do update set reply=excluded.reply, served=excluded.served "
            "where excluded.served >= replies.served"
        )
        self._write((keep, row), *self._cost(instead_of, row[0], *cost) if cost else ())

    def pay(
        self, key: str, run: str, model: str, tokens_in: int, tokens_out: int, dollars: float, known: bool = True,
        instead_of: int | None = None,
    ) -> int:
        """Note a cost without a reply; returns its number, by which a later one can stand `instead_of` it.

        known False: the upper bound of a request, noted before it is sent, so that a killed process has not spent unseen.
        """
        return self._write(*self._cost(instead_of, key, run, model, tokens_in, tokens_out, dollars, known))

    def forget(self, number: int) -> None:
        """Take back the cost of a request that the server refused."""
        self._write(("delete from costs where number = ?", (number,)))

    @staticmethod
    def _cost(instead_of, key, run, model, tokens_in, tokens_out, dollars, known=True) -> list[tuple]:
        columns = "run, model, key, tokens_in, tokens_out, dollars, known"
        row = (run, model, key, tokens_in, tokens_out, dollars, int(known))
        return [("delete from costs where number = ?", (instead_of,)), (f"insert into costs ({columns}) values (?,?,?,?,?,?,?)", row)]

    def _write(self, *statements) -> int:
        """All statements in one transaction; the number of the last row."""
        with self._locked("write", "; everything finished is kept: run again to resume"), self._db:
            return [self._db.execute(sql, values).lastrowid for sql, values in statements][-1]

    def _read(self, sql: str, values: tuple = ()) -> list[tuple]:
        with self._locked("read"):
            return self._db.execute(sql, values).fetchall()

    @contextmanager
    def _locked(self, what: str, advice: str = ""):
        """The store for this thread alone; GeoBenchError for what the database refuses."""
        try:
            with self._lock:
                yield
        except sqlite3.DatabaseError as error:
            raise GeoBenchError(f"{self.file}: could not {what} ({error}){advice}") from error

    def spent(self, run: str) -> float:
        """US dollars that a run has paid, with the upper bounds of what it may have paid."""
        return self._read("select coalesce(sum(dollars), 0.0) from costs where run = ?", (run,))[0][0]

    def summary(self) -> list[dict]:
        """Per model: replies kept, how many may be served, and per run what was paid."""
        sql = "select json_extract(asked, '$.model.model') as model, count(*), sum(served) from replies group by 1 order by 1"
        rows = [{"model": m, "replies": n, "served": int(s)} for m, n, s in self._read(sql)]
        columns = ("run", "model", "requests", "tokens_in", "tokens_out", "dollars", "of_which_bounds")
        paid = "select run, model, count(*), sum(tokens_in), sum(tokens_out), sum(dollars), sum(dollars * (1 - known)) from costs"
        return rows + [dict(zip(columns, row)) for row in self._read(f"{paid} group by 1, 2 order by 1, 2")]

    def rows(self, model: str | None = None):
        """Every kept reply as {"key", "asked", "reply", "served"}, by key; of one model, if given."""
        where = f"where {OF_MODEL}" if model else ""
        for key, asked, reply, served in self._read(f"select * from replies {where} order by key", (model,) if model else ()):
            yield {"key": key, "asked": self._parsed(key, asked), "reply": self._parsed(key, reply), "served": bool(served)}

    def prune(self, model: str | None = None) -> int:
        """Delete a model's replies, or (without a model) those that are never served; costs stay. Returns how many."""
        where, values = (OF_MODEL, (model,)) if model else ("not served", ())
        with self._locked("prune"):
            with self._db:
                gone = self._db.execute(f"delete from replies where {where}", values).rowcount
            self._db.execute("vacuum")
        return gone

    def close(self) -> None:
        self._db.close()


def command(action: str, model: str | None = None, to: str | None = None) -> list[str]:
    """`python -m geobench replies show|export|prune`: the lines to print."""
    if not store_file().exists():
        return [f"no replies at {store_file()}"]
    store = ReplyStore()
    try:
        if action == "show":
            return [f"{store.file}", *("  " + "  ".join(f"{k} {_short(v)}" for k, v in row.items()) for row in store.summary())]
        if action == "prune":
            return [f"{store.prune(model)} replies deleted from {store.file}"]
        if not to or (Path(to).exists() and any(map(Path(to).samefile, store.file.parent.glob(f"{store.file.name}*")))):
            raise GeoBenchError(f"replies export: expected --to FILE.jsonl, a file that is not the store, got {came(to)}")
        lines = [json.dumps(row, ensure_ascii=False) for row in store.rows(model)]
        Path(to).write_text("".join(f"{line}\n" for line in lines), "utf-8", "backslashreplace")
        return [f"{len(lines)} replies in {to}"]
    finally:
        store.close()


def _short(value) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
