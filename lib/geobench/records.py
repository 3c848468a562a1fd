"""Append-only JSON lines: one finished unit per line, flushed as finished, under a fingerprint of what determines them.

The first line of a file is its fingerprint. The same fingerprint resumes; another is refused with the names of what differs.
A torn last line (a killed run) is dropped with a warning. A later line for the same key supersedes an earlier one. A file has
one writer at a time.
"""

import json
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError, create_model
from pydantic_core import from_json

from geobench.errors import GeoBenchError, came, faults
from geobench.json_values import require_kinds
from geobench.locking import take
from geobench.progress import reached

UNIT = ("dataset", "list", "target")
KINDS = {"dataset": str, "list": str, "target": int, "variant": str, "text": str, "text_sha": str, "suffix": str}
MAKERS = {"edits": "notebooks 02 to 04", "ranks": "notebook 05_ranking", "scores": "notebook 06_detection"}  # by folder of a run
FIELDS = {"dataset": str, "list": str, "variant": str, "text": str, "text_sha": str, "orders": list[list[int]], "score": FiniteFloat}
OF_TEXT = {"target": int, "ranks": list[FiniteFloat]}  # in a record of one text
OF_LIST = {"target": int | None, "ranks": list[list[FiniteFloat]]}  # in one of a whole list


def read_records(path: Path) -> list[dict]:
    """The records of a file, without its fingerprint; GeoBenchError if there is no such file."""
    return list(_scan(path))[1:]


def read_fingerprint(path: Path) -> dict:
    """What determined the content of a record file."""
    return next(_scan(path), {"fingerprint": {}})["fingerprint"]


def differences(old: dict, new: dict, prefix: str = "") -> list[str]:
    """`name: old -> new` for every leaf in which two nested dictionaries differ."""
    lines = []
    for key in sorted({*old, *new}):
        a, b = old.get(key), new.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            lines += differences(a, b, f"{prefix}{key}.")
        elif a != b:
            lines.append(f"{prefix}{key}: {a!r} -> {b!r}")
    return lines


def sound(records: list[dict], path: Path, needed: Iterable[str] = ()) -> list[dict]:
    """The records of a file, each of which has its unit and what is `needed`, all of their kind, and comes once.

    GeoBenchError names the line of the first that does not. The same unit may stand there again after its text (`text_sha`) has
    changed; the later one supersedes the older.
    """
    latest: dict[tuple, str | None] = {}
    schema = _schema(frozenset(needed))
    for number, record in enumerate(records, 2):
        try:
            schema.model_validate(record)
        except ValidationError as error:
            raise GeoBenchError(f"{path}:{number}: {faults(error.errors())}") from None
        mine = tuple(record.get(name) for name in (*UNIT, "variant"))
        if mine in latest and latest[mine] == record.get("text_sha"):
            where = f"{record['dataset']}/{record['list']}, target {record['target']}"
            raise GeoBenchError(f"{path}:{number}: {where}: this target comes twice")
        latest[mine] = record.get("text_sha")
    return records


@cache
def _schema(needed: frozenset[str]) -> type[BaseModel]:
    """What a record must be: its fields of FIELDS are of their kinds, and those of a unit and the needed ones are there."""
    kinds = FIELDS | (OF_LIST if needed.isdisjoint(("text", "text_sha")) else OF_TEXT)
    fields: dict = {name: (kind, ... if name in needed | {*UNIT} else None) for name, kind in kinds.items()}
    return create_model("Record", __config__=ConfigDict(strict=True), **fields)


class Records:
    """An open record file: `done` maps a unit's key to its record, `append` writes and flushes one.

    kept: fields of a record that stay in memory, in `done`; None: all.
    """

    def __init__(self, path: Path, fingerprint: dict, key: Iterable[str] = UNIT, kept: Iterable[str] | None = None):
        self.path, self.key, self.kept = Path(path), tuple(key), None if kept is None else tuple(kept)
        fingerprint = json.loads(json.dumps(fingerprint, sort_keys=True))
        self.done: dict[tuple, dict] = {}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab", buffering=0)  # unbuffered: nothing of a failed write can come later
        try:
            take(self._file, str(self.path), wait=5)
            self._begin(fingerprint)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, fingerprint: dict) -> None:
        rows = _scan(self.path, mend=True)
        old = next(rows, {"fingerprint": {}})["fingerprint"]
        if not self.path.stat().st_size:  # new, or killed in its first line
            self._write({"fingerprint": fingerprint})
        elif old != fingerprint:
            raise GeoBenchError(
                f"{self.path} was made under other conditions ({'; '.join(differences(old, fingerprint))}); "
                "use --run NAME to keep both, or --force to make it anew"
            )
        for row in rows:
            self._note(row)
        reached(self.path, len(self.done))

    def _note(self, record: dict) -> None:
        self.done[self.key_of(record)] = record if self.kept is None else {k: record[k] for k in self.kept if k in record}

    def key_of(self, record: dict) -> tuple:
        return tuple(record.get(k) for k in self.key)

    def append(self, record: dict) -> None:
        """Keep one finished unit; it is on disk when this returns."""
        self._write(record)
        self._note(record)
        reached(self.path, len(self.done))

    def _write(self, row: dict) -> None:
        try:
            line = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
        except ValueError as error:  # half a surrogate pair, or nan
            raise GeoBenchError(f"{self.path}: cannot hold a record ({came(error)}): {came(row)}") from error
        start = self.path.stat().st_size
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:])
        except OSError as error:
            _cut(self.path, start)
            raise GeoBenchError(
                f"{self.path}: could not write ({error.strerror}); everything finished before is kept: free space and run again to resume"
            ) from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()


def _cut(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)


def _scan(path: Path, mend: bool = False) -> Iterator[dict]:
    """The fingerprint's row, then the records, line by line; with `mend` a torn last line is also removed from the file."""
    path, whole = Path(path), 0
    if not path.exists():
        maker = next((MAKERS[part] for part in reversed(path.parts) if part in MAKERS), "the notebook that makes them")
        raise GeoBenchError(f"no records at {path}: run {maker} first")
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                said = f"{path}: dropped a torn last line of {len(line)} bytes (its unit will be made again)"
                warnings.warn(said, stacklevel=3)
                if mend:
                    _cut(path, whole)
                return
            row = _row(path, number, line)
            if number == 1 and not (set(row) == {"fingerprint"} and isinstance(row["fingerprint"], dict)):
                raise GeoBenchError(f"{path}:1: expected the fingerprint line, got {came(row)}")
            whole += len(line)
            yield row


def _row(path: Path, number: int, line: bytes) -> dict:
    try:
        row = from_json(line, allow_inf_nan=False)
    except ValueError as error:  # half a surrogate pair too
        raise GeoBenchError(f"{path}:{number}: not a JSON record ({error}): {came(line.decode(errors='replace'))}") from error
    if not isinstance(row, dict):
        raise GeoBenchError(f"{path}:{number}: expected a JSON object, got {came(row)}")
    require_kinds(row, KINDS, f"{path}:{number}")
    return row
