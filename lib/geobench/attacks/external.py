"""Bring your own edits: a .jsonl or .csv file with dataset, list, target and either the suffix or the full text."""

import csv
import re
from pathlib import Path

from geobench import paths
from geobench.attacks.base import Task, appended, rewritten
from geobench.catalog import Selected
from geobench.errors import GeoBenchError, came, nearest
from geobench.json_values import require_kinds
from geobench.lists import read_rows, refuse_control


def read(file: str, selected: list[Selected]) -> list[tuple[Task, dict]]:
    """(task, edit) per row, each checked against the catalog; rows for unselected targets are refused by name."""
    path = Path(file) if Path(file).is_absolute() else paths.ROOT / file
    if not path.is_file() or path.suffix not in (".csv", ".jsonl"):
        raise GeoBenchError(f"external_edits: {'no such file' if not path.exists() else 'expected a .csv or .jsonl file, got'} {path}")
    tasks = {(s.list.dataset, s.list.name, t): Task(s.list, t) for s in selected for t in range(1, len(s.list) + 1)}
    edits, seen = [], set()
    for number, row in enumerate(_rows(path), 1):
        where = f"{path.name} row {number}"
        key = _key(row, where)
        if key not in tasks:
            raise GeoBenchError(f"{where}: no item {key[0]}/{key[1]}/{key[2]} in this run.{_known(key, selected)}")
        if key in seen:
            raise GeoBenchError(f"{where}: {key[0]}/{key[1]}/{key[2]} appears twice")
        seen.add(key)
        edits.append((tasks[key], _edit(tasks[key], row, where)))
    if not edits:
        raise GeoBenchError(f"{path.name}: holds no edits")
    return edits


def _known(key: tuple, selected: list[Selected]) -> str:
    """What there is in place of an unknown item: its list's numbers, or the list of the nearest name."""
    sizes = {s.list.key: len(s.list) for s in selected}
    name = f"{key[0]}/{key[1]}"
    return f" `{name}` has items 1 to {sizes[name]}." if name in sizes else nearest(name, sizes)


def _edit(task: Task, row: dict, where: str) -> dict:
    suffix, text = row.get("suffix") or "", row.get("text") or ""
    if not isinstance(suffix, str) or not isinstance(text, str) or bool(suffix.strip()) == bool(text.strip()):
        raise GeoBenchError(f"{where}: give either suffix or text, as a text that is not empty, got {came(row)}")
    refuse_control(suffix + text, f"{where}: the text")
    return appended(task, suffix) if suffix.strip() else rewritten(text)


def _rows(path: Path) -> list[dict]:
    if path.suffix == ".jsonl":
        return read_rows(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return list(csv.DictReader(lines, strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise GeoBenchError(f"{path.name}: not a UTF-8 CSV file ({error})") from error


def _key(row: dict, where: str) -> tuple:
    require_kinds(row, {"dataset": str, "list": str}, where)
    dataset, name, target = (row.get(k) for k in ("dataset", "list", "target"))
    whole = re.fullmatch(r"\s*[0-9]{1,9}\s*", str(target)) and not isinstance(target, float)
    if not dataset or not name or not whole:
        raise GeoBenchError(f"{where}: needs dataset, list and a whole-number target, got {came(row)}")
    return dataset, name, int(target)
