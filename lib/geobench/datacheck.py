"""Defects of the lists that a reader should know before believing a table: recorded, not repaired.

Every check is a short function from lists to defects, so that what counts as one can be read in one place.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from geobench.lists import RankList, one_line

URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
# How a summariser announces its answer instead of giving it.
OPENING = re.compile(
    r"(?:sure[,!.] )?here (?:is|are|'s)\b.{0,80}\b(?:summar\w+|points?|sentences?|text|description)\b"
    r"|(?:in )?summary\b|(?:the|this) (?:text|passage|article|document|page) (?:is|describes|discusses)\b",
    re.IGNORECASE,
)
KINDS = (
    "duplicate_name",
    "contained_name",
    "url_only",
    "shared_product",
    "boilerplate_opening",
    "over_long",
    "control_character",
    "non_ascii",
)


@dataclass(frozen=True)
class Defect:
    """One finding; `item` is the item's 1-based index in its list."""

    kind: str
    dataset: str
    list: str
    item: int
    detail: str


def check(lists: Iterable[RankList], words: int = 120, opening: int = 5) -> list[Defect]:
    """Defects of all lists, in the order of KINDS, then of the lists.

    words: a longer description is over-long. opening: three or more descriptions of a list that share this
    many first words have a boilerplate opening, as do those that begin like a summariser's reply.
    """
    lists = list(lists)
    found: list = []
    for lst in lists:
        found += _names(lst)
        found += _texts(lst, words)
        found += _openings(lst, opening)
    found += _shared(lists)
    return sorted(found, key=lambda defect: KINDS.index(defect.kind))  # stable: lists keep their order


def defect_table(defects: Sequence[Defect]):
    """pandas.DataFrame with the columns kind, dataset, list, item (1-based), detail; one row per defect."""
    import pandas

    return pandas.DataFrame(map(asdict, defects), columns=list(Defect.__dataclass_fields__))


def normal_name(name: str) -> str:
    """Name as it is compared across data sets: without case, punctuation, spaces and compatibility forms."""
    return "".join(re.findall(r"\w+", unicodedata.normalize("NFKC", name).casefold())) or name


def _defect(kind: str, lst: RankList, item: int, detail: str) -> Defect:
    return Defect(kind, lst.dataset, lst.name, item, detail)


def _names(lst: RankList) -> Iterator[Defect]:
    """Names that come again, and names that another name of the list contains at word boundaries."""
    names = [one_line(item.name).casefold() for item in lst.items]
    for i, name in enumerate(names, 1):
        if (first := names.index(name) + 1) < i:
            yield _defect("duplicate_name", lst, i, f"`{lst.items[i - 1].name}` is also item {first}")
        inside = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        for j, other in enumerate(names, 1):
            if other != name and inside.search(other):
                detail = f"`{lst.items[i - 1].name}` is in the name of item {j}, `{lst.items[j - 1].name}`"
                yield _defect("contained_name", lst, i, detail)


def _texts(lst: RankList, words: int) -> Iterator[Defect]:
    """URL-only and over-long descriptions; in name or description, characters beyond printable ASCII.

    Control characters are those that do not show (controls, line ends, format characters, spaces of other
    kinds) and the replacement character.
    """
    for i, item in enumerate(lst.items, 1):
        rest = re.findall(r"\w+", URL.sub(" ", item.description))
        if URL.search(item.description) and len(rest) <= 5:  # a label and a person's name describe nothing
            yield _defect("url_only", lst, i, f"nothing but a URL and {len(rest)} words")
        if (count := len(item.description.split())) > words:
            yield _defect("over_long", lst, i, f"{count} words, more than {words}")
        odd = sorted({c for c in item.name + item.description if not " " <= c <= "~"})
        hidden = [c for c in odd if unicodedata.category(c)[0] in "CZ" or c == "\ufffd"]
        for kind, found in (
            ("control_character", hidden),
            ("non_ascii", [c for c in odd if c not in hidden]),
        ):
            if found:
                yield _defect(kind, lst, i, _spell(found))


def _spell(characters: list[str], limit: int = 4) -> str:
    """Code points and names, such as "U+2013 EN DASH", of the first `limit` characters."""
    spelt = [f"U+{ord(c):04X} {unicodedata.name(c, 'CONTROL')}" for c in characters[:limit]]
    return ", ".join(spelt) + (f" and {len(characters) - limit} more" if len(characters) > limit else "")


def _openings(lst: RankList, opening: int) -> Iterator[Defect]:
    """Descriptions that open like a summariser's reply or like two or more others of the list."""
    starts = [" ".join(item.description.split()[:opening]).casefold() for item in lst.items]
    for i, (item, start) in enumerate(zip(lst.items, starts, strict=True), 1):
        if match := OPENING.match(one_line(item.description)):
            yield _defect("boilerplate_opening", lst, i, f"opens with `{match[0]}`")
        elif starts.count(start) >= 3 and len(start.split()) == opening:
            detail = f"{starts.count(start)} descriptions open with `{start}`"
            yield _defect("boilerplate_opening", lst, i, detail)


def _shared(lists: list[RankList]) -> Iterator[Defect]:
    """Items that an earlier data set has too, by normalised name."""
    seen: dict[str, list[RankList]] = defaultdict(list)
    for lst in lists:
        for i, item in enumerate(lst.items, 1):
            places = seen[normal_name(item.name)]
            others = [place.key for place in places if place.dataset != lst.dataset]
            if others:
                yield _defect("shared_product", lst, i, f"`{item.name}` is also in {others[0]}")
            places.append(lst)
