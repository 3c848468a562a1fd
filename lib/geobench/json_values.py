"""JSON that others wrote: one line of what is wrong where it is no JSON, is nested without end, or holds what no file can store."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from geobench.errors import GeoBenchError, came


def parse_json(text: str | bytes, surrogates: bool = False):
    """The value of a JSON text; ValueError also for one that is nested too deeply, and for a lone surrogate (`\\ud800`) unless
    `surrogates` lets them through to a caller that takes them out."""
    if not surrogates:
        return from_json(text)
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def json_lines(path: Path, surrogates: bool = False) -> Iterator[tuple[int, object]]:
    """(line number, value) of a JSON-lines file (UTF-8, LF or CRLF, blank lines skipped); GeoBenchError names file and line."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise GeoBenchError(f"{path}: not a readable UTF-8 file ({came(error)}).") from None
    for number, line in enumerate(text.split("\n"), 1):  # not splitlines: U+2028 may stand inside a string
        if line.strip():
            try:
                yield number, parse_json(line, surrogates)
            except ValueError as error:
                why = str(error).replace("line 1 column", "column")
                raise GeoBenchError(f"{path}:{number}: expected a JSON object, got {came(line)} ({why}).") from None


def require_kinds(row: Mapping, kinds: Mapping[str, Any], where: str) -> None:
    """GeoBenchError, naming the field, for a value of another kind than `kinds` says; null and absent are let through.

    true and false are no numbers.
    """
    for name, kind in kinds.items():
        value = row.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise GeoBenchError(f"{where}: {name}: expected {'a text' if kind is str else 'a whole number'}, got {came(value)}")
