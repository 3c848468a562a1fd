"""Bring your own edits: a .jsonl or .csv file with dataset, list, target and either the suffix or the full text."""

import csv
import json
from pathlib import Path

from geobench import paths
from geobench.attacks.base import Task, appended, rewritten
from geobench.catalog import Selected
from geobench.errors import GeoBenchError, came, nearest


def read(file: str, selected: list[Selected]) -> list[tuple[Task, dict]]:
    """(task, edit) per row, each checked against the catalog; rows for unselected targets are refused by name."""
    path = Path(file) if Path(file).is_absolute() else paths.ROOT / file
    if not path.exists():
        raise GeoBenchError(f"external_edits: no such file {path}")
    tasks = {(s.list.dataset, s.list.name, t): Task(s.list, t) for s in selected for t in range(1, len(s.list) + 1)}
    edits, seen = [], set()
    for number, row in enumerate(_rows(path), 1):
        where = f"{path.name} row {number}"
        key = _key(row, where)
        if key not in tasks:
            known = {f"{d}/{n}/{t}" for d, n, t in tasks}
            raise GeoBenchError(f"{where}: no item {key[0]}/{key[1]}/{key[2]} in this run.{nearest('/'.join(map(str, key)), known)}")
        if key in seen:
            raise GeoBenchError(f"{where}: {key[0]}/{key[1]}/{key[2]} appears twice")
        seen.add(key)
        suffix, text = row.get("suffix"), row.get("text")
        if bool(suffix) == bool(text):
            raise GeoBenchError(f"{where}: give either suffix or text, got {came(row)}")
        edits.append((tasks[key], appended(tasks[key], suffix) if suffix else rewritten(text)))
    if not edits:
        raise GeoBenchError(f"{path.name}: holds no edits")
    return edits


def _rows(path: Path) -> list[dict]:
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".csv":
        return list(csv.DictReader(text.splitlines(keepends=True)))
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise GeoBenchError(f"{path.name}: not JSON lines ({error})") from error


def _key(row: dict, where: str) -> tuple:
    try:
        return str(row["dataset"]), str(row["list"]), int(row["target"])
    except (KeyError, TypeError, ValueError) as error:
        raise GeoBenchError(f"{where}: needs dataset, list and a whole-number target, got {came(row)}") from error
