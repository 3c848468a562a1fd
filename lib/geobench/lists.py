"""Candidate lists: what a ranker is asked to order, and the JSON-lines files they come from.

Compromise: names are brought to one line and descriptions are stripped at the ends; everything else stays as
published, line ends inside a description too (prompts collapse white space themselves).
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic_core import from_json

from geobench.errors import GeoBenchError, came

# Query nouns that are not the list's name; every other noun is the name with spaces (the release's rule).
NOUNS = {
    "books": "book",
    "cameras": "camera",
    "coffee_machines": "coffee machine",
    "election_articles": "election article",
    "debate": "debate article",
    "news": "news article",
    "retail": "product",
    "videogames": "video game",
    "web": "web page",
}
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # NUL and terminal escapes; tabs and line ends may stand


@dataclass(frozen=True)
class Item:
    """One candidate: a one-line name and its description."""

    name: str
    description: str


@dataclass(frozen=True)
class RankList:
    """L >= 2 items and the noun of their query ("a {noun}"). Build it with `make_list`, which checks."""

    dataset: str
    name: str
    noun: str
    items: tuple[Item, ...]

    @property
    def key(self) -> str:
        return f"{self.dataset}/{self.name}"

    def __len__(self) -> int:
        return len(self.items)


def one_line(text: object) -> str:
    """Text with every run of white space as one space."""
    return " ".join(str(text).split())


def noun_of(list_name: str) -> str:
    """Query noun of a list: a table of singulars, else the name with underscores as spaces (plurals stay)."""
    return NOUNS.get(list_name, one_line(list_name.replace("_", " ")))


def make_list(dataset: str, name: str, noun: str | None, rows: Iterable, strict: bool = True) -> RankList:
    """Checked list from (name, description) pairs or Items; without a noun it takes `noun_of(name)`.

    Raises GeoBenchError for fewer than two items, control characters, an empty name or description and, where `strict`, for a
    name that comes twice (case and white space aside). Public lists are not strict: they stay as published,
    and `datacheck` reports repeated names.
    """
    rows = [(row.name, row.description) if isinstance(row, Item) else row for row in rows]
    items = tuple(Item(one_line(item), str(text).strip()) for item, text in rows)
    where = f"list `{dataset}/{name}`"
    if found := CONTROL.search(dataset + name):
        raise GeoBenchError(f"{where}: its name holds the control character U+{ord(found[0]):04X}.")
    if len(items) < 2:
        raise GeoBenchError(f"{where}: expected two items or more, got {len(items) or 'an empty list'}.")
    first: dict[str, int] = {}
    for i, item in enumerate(items, 1):
        if not item.name or not item.description:
            lacks = "description" if item.name else "name"
            raise GeoBenchError(f"{where}, item {i}: the {lacks} is empty, got {came(rows[i - 1])}.")
        for label, text in (("name", item.name), ("description", item.description)):
            if found := CONTROL.search(text):
                raise GeoBenchError(f"{where}, item {i}: the {label} holds the control character U+{ord(found[0]):04X}.")
        j = first.setdefault(item.name.casefold(), i)
        if strict and j != i:
            raise GeoBenchError(f"{where}: items {j} and {i} share the name {came(item.name)}.")
    return RankList(dataset, name, one_line(noun or "") or noun_of(name), items)


def read_rows(path: Path) -> list[dict]:
    """Objects of a JSON-lines file (UTF-8, LF or CRLF, blank lines skipped); errors name file and line."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise GeoBenchError(f"{path}: not a readable UTF-8 file ({came(error)}).") from None
    rows = []
    for number, line in enumerate(text.split("\n"), 1):  # not splitlines: U+2028 may stand inside a string
        if not line.strip():
            continue
        try:
            row = from_json(line)
        except ValueError:  # half a surrogate pair too, which no file can hold
            row = None
        if not isinstance(row, dict):
            raise GeoBenchError(f"{path}:{number}: expected a JSON object, got {came(line)}.")
        rows.append(row)
    return rows


def natural(row: dict) -> tuple[str | None, str | None]:
    """Name and description of a {"Name", "Natural"} row."""
    return row.get("Name"), row.get("Natural")


def read_list_file(
    path: Path, dataset: str, noun: str | None = None, convert: Callable = natural, strict: bool = True
) -> RankList:
    """List in a JSON-lines file that is named for it; `convert` makes a (name, description) pair of a row."""
    path, pairs = Path(path), []
    for number, row in enumerate(read_rows(path), 1):
        pairs.append(convert(row))
        if not all(isinstance(part, str) for part in pairs[-1]):
            got = came(json.dumps(row, ensure_ascii=False))
            raise GeoBenchError(f"{path}, item {number}: expected the texts `Name` and `Natural`, got {got}.")
    return make_list(dataset, path.stem, noun, pairs, strict)
