"""Stored replies read anew, without a model: what a mended parser changes in a run's records.

A run remembers which parser read its replies (`replies.json`). Under another one, `./run_all.sh` and `python -m geobench reparse` read
all of them again: generated rankings, edits, answers, grades and guard models' decisions. Rankings in windows stay as they are, because
what a window shows depends on how the one before was read.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from geobench import paths
from geobench.locking import FolderLock
from geobench.records import read_fingerprint, read_records
from geobench.reproduce import folder_of
from geobench.tables import put
from geobench.variants import method_of

PARSERS = (
    "parsing", "matching", "reply_rows", "rankers/structure", "engines/reply", "attacks/base", "attacks/rewrites", "search/context",
    "search/judge", "search/structured", "search/victims", "search/defences/reply_guards",
)  # fmt: skip
NOTE = "replies.json"


def parser_sha() -> str:
    """Digest of the code that reads replies."""
    files = (paths.ROOT / "lib" / "geobench" / f"{name}.py" for name in PARSERS)
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def refresh(folder: Path) -> list[str]:
    """Read a run's replies again if another parser read them last; one line per file that this changed."""
    note, now = Path(folder) / NOTE, {"parser": parser_sha()}
    if note.exists() and note.read_text() == json.dumps(now):
        return []
    lines = reparse(folder)
    note.parent.mkdir(parents=True, exist_ok=True)
    put(note, json.dumps(now))
    return lines


def reparse(folder: Path) -> list[str]:
    """Read all stored replies of a run's folder again; one line per file that this changed."""
    return [line for file, read in _readers(Path(folder)) if (line := _reread(file, read, folder))]


def _reread(file: Path, read: Callable[[dict], dict], folder: Path) -> str | None:
    """Rewrite a record file, whole or not at all, with what `read` makes of each record; says what changed."""
    records = read_records(file)
    found = [row | read(row) for row in records]
    changed = [(old, new) for old, new in zip(records, found) if old != new]
    if not changed:
        return None
    rows = [{"fingerprint": read_fingerprint(file)}, *found]
    put(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    moves = Counter(_move(old, new) for old, new in changed)
    told = ", ".join(f"{move} ({count})" for move, count in moves.most_common())
    return f"{file.relative_to(folder)}: {len(changed)} of {len(found)} records read differently: {told}"


def _move(old: dict, new: dict) -> str:
    """How a record's reading changed, in words."""
    for name in ("status", "stance"):
        if old.get(name) != new.get(name):
            a, b = (", ".join(v) if isinstance(v := row.get(name), list) else str(v) for row in (old, new))
            return f"{a} -> {b}"
    return ", ".join(sorted(k for k in new if new[k] != old.get(k)))


def _readers(folder: Path) -> Iterator[tuple[Path, Callable[[dict], dict]]]:
    """Each record file that keeps replies, with what reads a record of it."""
    from geobench.attacks import METHODS
    from geobench.catalog import read_catalog
    from geobench.search.defences.reply_guards import PARSERS as GUARDS

    catalog = folder / "catalog.jsonl"
    lists = {(s.list.dataset, s.list.name): s.list for s in read_catalog(catalog)} if catalog.exists() else {}
    for file in sorted([*folder.glob("ranks/*/*.jsonl"), *folder.glob("ladder/*/*.jsonl")]):
        ranker = read_fingerprint(file).get("ranker", {})
        if ranker.get("read_out") == "generate" and "window" not in ranker:
            yield file, partial(_ranking, ranker, lists)
    for file in sorted(folder.glob("edits/*.jsonl")):
        method = method_of(file.stem)
        if method == "zero_shot" or METHODS.get(method) == "rewrites":
            yield file, partial(_edit, method, lists)
    shown = folder / "search" / "contexts.jsonl"
    counts = {(r["name"], r["condition"]): len(r["passages"]) for r in read_records(shown)} if shown.exists() else {}
    for kind in ("answers", "defended"):
        for file in sorted(folder.glob(f"search/{kind}/*__generate.jsonl")):
            yield file, partial(_answer, counts)
    for file in sorted(folder.glob("search/grades/*.jsonl")):
        yield file, _grade
    for file in sorted(folder.glob("search/decisions/*.jsonl")):
        if file.stem in GUARDS:
            yield file, partial(_decisions, GUARDS[file.stem])


def _ranking(ranker: dict, lists: dict, row: dict) -> dict:
    from geobench.rankers.base import Job
    from geobench.rankers.generate import read_rankings

    if not row.get("replies"):
        return {}
    job = Job(lists[row["dataset"], row["list"]], tuple(map(tuple, row["orders"])))
    finish = row.get("finish") or ["length" if status == "cut_off" else "stop" for status in row["status"]]
    ranks, status = read_rankings(job, row["replies"], finish, ranker["parse_mode"], ranker.get("structure"))
    mine = [order[row["target"] - 1] for order in ranks] if row.get("text_sha") else ranks
    return {"ranks": mine, "status": status}


def _edit(method: str, lists: dict, row: dict) -> dict:
    from geobench.attacks import rewrites
    from geobench.attacks.base import Task, appended, rewritten, snippet

    task = Task(lists[row["dataset"], row["list"]], row["target"])
    if method == "zero_shot":
        return appended(task, snippet(row["reply"]))
    return rewritten(rewrites.finished_text(method, task, row["reply"]))


def _answer(counts: dict, row: dict) -> dict:
    from geobench.search.victims import answered

    shown = row.get("shown", counts.get((row.get("name"), row.get("condition"))))
    return {} if shown is None else answered(row.get("raw", row["answer"]), shown)


def _grade(row: dict) -> dict:
    from geobench.search.judge import parse

    return parse(row["raw"])


def _decisions(parse: Callable, row: dict) -> dict:
    return {"decisions": [parse(made["raw"]).record() for made in row["decisions"]]}


def command(run: str) -> list[str]:
    """What `python -m geobench reparse` says: each file whose records changed, and what to do then."""
    folder = folder_of(run)
    with FolderLock(folder):
        lines = reparse(folder)
        put(folder / NOTE, json.dumps({"parser": parser_sha()}))
    then = "the notebooks that read these records make their tables anew at the next ./run_all.sh"
    return [*lines, then] if lines else [f"{folder}: the stored replies read as before"]
