"""A model's reply -> the rank of every item, and a status that says how it was read.

`parse_ranking` takes the first of these that holds two items: JSON, marked numbers ("1.", "#1", "| 1 |"),
bare numbers, bullets, lines that are a name; else a lone numbered line, the order of first mention, or the
prompt's own numbers ("3 > 1 > 2"). So a preamble that names an item does not count when a list follows, and
in a line the name at its start goes before names that its explanation mentions. Places count the items found:
a line that names none takes no place. `mode="released"` is the public GEO-Bench parser with its known
failures (geobench-protocol, "Release parser").
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from geobench.engines.reply import THINKING
from geobench.errors import GeoBenchError, came
from geobench.matching import NameTable, exact, mentions, name_table, shortened, words
from geobench.reply_rows import Row, identifiers, json_rows, list_text, rows, without_fences

# The first that holds is the status.
# cut_off: the token limit ended the reply and items are missing.
# empty: no item was found (a blank reply, a refusal).
# duplicate: an item was listed twice and its first place counts (others may be missing as well).
# missing: some items were not found.
# repaired: complete, but not a plain list of full names (thinking, short names, mentions, numbers).
# ok: complete, each item once.
STATUSES = ("cut_off", "empty", "duplicate", "missing", "repaired", "ok")

NESTED = 3  # columns by which a list inside a list is set in
_RELEASED_LINE = re.compile(r"\s*(?:\*\*)?\d+[.)]\s*(\S.*)")


@dataclass(frozen=True)
class Parsed:
    """`ranks[i]` of item i: 1..L, or L+1 if missing; `order`: items found (0-based), best first."""

    ranks: list[int]
    status: str
    order: list[int]


class _Reading(NamedTuple):
    order: list[int]
    repaired: bool = False
    doubled: bool = False


def parse_ranking(reply: str | None, names: list[str], finish: str = "stop", mode: str = "default") -> Parsed:
    """Ranks of `names` in one reply; names in the prompt's order, which identifiers like "[3]" refer to.

    `finish`: the engine's stop reason. Raises GeoBenchError for an unknown mode or no names; never for a
    reply.
    """
    if mode not in ("default", "released"):
        raise GeoBenchError(f"parse_ranking: expected mode `default` or `released`, got {came(mode)}")
    if not names:
        raise GeoBenchError("parse_ranking: expected the names of the list, got none")
    return placed(len(names), finish, *(_read if mode == "default" else _read_released)(reply or "", names))


def placed(size: int, finish: str, order: list[int], repaired: bool = False, doubled: bool = False) -> Parsed:
    """What a reply comes to in which these of `size` items were found, best first, each once."""
    missing = len(order) < size
    holds = (missing and finish == "length", not order, doubled, missing, repaired, True)
    ranks = [order.index(i) + 1 if i in order else size + 1 for i in range(size)]
    return Parsed(ranks, STATUSES[holds.index(True)], order)


def _read(reply: str, names: list[str]) -> _Reading:
    """The default mode's reading: what goes before what stands at the head of this file."""
    table = name_table(names)
    shown = without_fences(THINKING.sub("\n", reply))
    text = list_text(shown)
    lines = rows(table, text)
    numbered = _numbered(table, [row for row in lines if row.strong])
    unnumbered = [row for row in lines if row.number is None and _is_name(table, row)]
    readings = [
        _take(table, json_rows(table, shown), loose=True),
        numbered,
        _take(table, [row for row in lines if row.number is not None and not row.strong], loose=True),
        _take(table, _by_stated_rank(table, [row for row in unnumbered if row.bullet])),
        _take(table, _by_stated_rank(table, unnumbered)),
    ]
    mentioned = _Reading(mentions(table, words(text)), repaired=True)
    last = [numbered, mentioned, _Reading(identifiers(text, len(names)), repaired=True)]
    found = [r for r in readings if len(r.order) >= min(2, len(names))] + [r for r in last if r.order]
    best = found[0] if found else _Reading([])
    return best._replace(repaired=best.repaired or bool(THINKING.search(reply)))


def _is_name(table: NameTable, row: Row) -> bool:
    """Whether the name that a row begins with, if any, ends with the row or at a break: not a sentence."""
    hit = exact(table, row.words)
    return hit is None or not hit.full or hit.end == len(row.words) or row.words[hit.end].broken


def _numbered(table: NameTable, lines: list[Row]) -> _Reading:
    """Marked numbers: the outer list only, and from the bottom where it counts down to 1."""
    outer = [row for row in lines if row.indent < min(r.indent for r in lines) + NESTED]
    lines = outer if len(outer) > 1 else lines
    if len(lines) > 1 and [row.number for row in lines] == list(range(len(lines), 0, -1)):
        return _take(table, lines[::-1], loose=True)._replace(repaired=True)
    return _take(table, lines, loose=True)


def _by_stated_rank(table: NameTable, lines: list[Row]) -> list[Row]:
    """Rows that put the rank behind the name ("Name: 2"), by that rank; others as they are."""
    named = [(row, hit.end) for row in lines if (hit := exact(table, row.words))]
    stated = [row.words[end].text if end < len(row.words) else "" for row, end in named]
    ranks = [str(rank) for rank in range(1, len(named) + 1)]
    if sorted(stated) != sorted(ranks):
        return lines
    return [named[stated.index(rank)][0] for rank in ranks]


def _take(table: NameTable, lines: list[Row], loose: bool = False) -> _Reading:
    """One item per row: full names at its start, then short forms, then (`loose`) a free name it mentions."""
    hits = [exact(table, row.words) for row in lines]
    found = {n: hit.item for n, hit in enumerate(hits) if hit}
    known: dict = {}
    for n, row in enumerate(lines):
        if n not in found and (item := shortened(table, row.words, set(found.values()), known)) is not None:
            found[n] = item
    for n, row in enumerate(lines if loose else []):
        free = [item for item in mentions(table, row.words) if item not in found.values()]
        if n not in found and free:
            found[n] = free[0]
    order: list[int] = []
    for n in sorted(found):
        twins = [i for i, name in enumerate(table.words) if name == table.words[found[n]] and i not in order]
        order += twins[:1]  # two items of one name: first come, first placed
    return _Reading(order, sum(bool(hit and hit.full) for hit in hits) < len(found), len(order) < len(found))


def _read_released(reply: str, names: list[str]) -> _Reading:
    """The public release's reading: the longest free name in each numbered line, else first mentions."""

    def bare(text: str) -> str:
        return " ".join(re.sub("[*_`\"'“”‘’]", "", text.lower()).split())

    keys = [bare(name) for name in names]
    longest = sorted((i for i, key in enumerate(keys) if key), key=lambda i: -len(keys[i]))
    order: list[int] = []
    for line in filter(None, map(_RELEASED_LINE.match, reply.splitlines())):
        order += [i for i in longest if keys[i] in bare(line[1]) and i not in order][:1]
    if order:
        return _Reading(order)
    text = bare(reply)
    mentioned = [i for i in longest if keys[i] in text]
    return _Reading(sorted(mentioned, key=lambda i: (text.find(keys[i]), names[i])), repaired=True)
