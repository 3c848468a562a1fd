"""The shapes of a reply that lists things: numbered, bulleted and bare lines, tables, JSON, number chains.

`rows` turns a reply's text into one `Row` per line, with the number in front of it taken off ("1.", "(1)",
"#1", "**1.**", "1 -", "1st:", "Rank 1", "| 1 |", circled, superscript and keycap digits, medals). Which rows
make the ranking is decided in `parsing`.
"""

import json
import re
import unicodedata
from itertools import islice
from typing import NamedTuple

from geobench.matching import NameTable, Word, exact, plain, words

_FENCE = re.compile(r"(?m)(?:```|~~~)[\w+-]*[ \t]*$")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,60}>")
_BULLET = re.compile(r"(?m)^([ \t>]*)(?:[*+](?=\s)|[•‣◦●▪·])")
_GLYPH = re.compile(r"(?m)^([ \t>*_#|-]*)((?:\d\ufe0f?\u20e3)+|[¹²³⁰⁴-⁹]+|[①-⑳❶-❿➀-➓⓵-⓾🥇🥈🥉🔟])")
_MEDALS = {"🥇": 1, "🥈": 2, "🥉": 3, "🔟": 10}
_MARK = re.compile(
    r"[^\w(\[#]*(?P<sharp>#+\s*)?(?P<word>(?:rank|place|position|no|number)\b[\s.:#]*)?[(\[]?(?P<n>\d{1,3})"
    r"(?:(?P<th>st|nd|rd|th)\b(?:\s+place)?|(?!\w))(?P<close>\s*[.):\]|](?!\d)|\s*-+\s)?(?P<rest>.*)"
)
_INLINE = re.compile(r"(?<![^\s,;|>:])\(?(\d{1,3})[.)](?=\s|[^\W\d])")
_THINGS = "item|product|document|doc|passage|option|candidate|id"
_IDENTIFIERS = re.compile(rf"(?:[\s\[\](){{}}#>,;|.:-]|\d|\b(?:{_THINGS})s?\b)+")
_NAME_KEYS = ("name", "item", "product", "title", "document", "brand")
_RANK_KEYS = ("rank", "position", "place", "ranking")


class Row(NamedTuple):
    """A line: the words behind number, bullet and markup, and what stood in front of them."""

    words: list[Word]
    number: int | None = None
    strong: bool = False  # the number is marked as one ("1.", "#1"), not merely in front
    bullet: bool = False
    indent: int = 0


def without_fences(text: str) -> str:
    """Text without the lines that open and close a code block."""
    return _FENCE.sub("", text)


def list_text(text: str) -> str:
    """`plain` text, with bullets as "- ", digit glyphs as "1. " and a list in one line broken into lines."""
    text = plain(_BULLET.sub(r"\1- ", _GLYPH.sub(_digits, _TAG.sub(" ", text))))
    if sum(bool((match := _MARK.match(line)) and match["close"]) for line in text.split("\n")) > 1:
        return re.sub(r": +(?=\(?1[.)]\s)", ":\n", text)
    cuts = [0]
    for match in _INLINE.finditer(text):
        if int(match[1]) == len(cuts):
            cuts.append(match.start())
    return "\n".join(text[a:b] for a, b in zip(cuts, [*cuts[1:], None], strict=True)).removeprefix("\n")


def rows(table: NameTable, text: str) -> list[Row]:
    """One row per line of a `list_text`."""
    return [_row(table, line) for line in text.split("\n")]


def json_rows(table: NameTable, text: str) -> list[Row]:
    """Rows of the first JSON list of names or of {"rank", "name"} objects, also inside an object; else []."""
    for match in islice(re.finditer(r"[\[{]", text), 20):
        try:
            names = _listed(json.JSONDecoder().raw_decode(text, match.start())[0])
        except (ValueError, RecursionError):
            continue
        if names:
            return [_row(table, plain(name).replace("\n", " ")) for name in names]
    return []


def identifiers(text: str, size: int) -> list[int]:
    """0-based items from the prompt's numbers 1..size: "[3] > [1]", "3, 1, 2", one a line ("1. [3]", "3")."""
    numbers: list[str] = []
    for line in filter(_IDENTIFIERS.fullmatch, text.split("\n")):
        chain, mark = re.findall(r"\d+", line), _MARK.match(line)
        marked = mark is not None and bool(mark["close"])
        if len(chain) > 1 and not re.search("[>,;]", line):
            chain = re.findall(r"\d+", mark["rest"]) if mark and marked else []
        elif len(chain) == 1 and marked and "[" not in line:
            chain = []  # "1." alone is an empty line of a list, not item 1
        numbers += chain
    known = [str(number) for number in range(1, size + 1)]
    valid = len(set(numbers)) == len(numbers) > 1 and set(numbers) <= set(known)
    return [known.index(number) for number in numbers] if valid else []


def _digits(match: re.Match) -> str:
    """A circled, superscript, keycap or medal number at the start of a line as "3. "."""
    values = [_MEDALS.get(c) or unicodedata.numeric(c, None) for c in match[2]]
    return match[1] + "".join(str(int(value)) for value in values if value is not None) + ". "


def _row(table: NameTable, line: str) -> Row:
    """One line as a row; a number that belongs to a name ("5 Takeaways") stays with it."""
    whole, mark = words(line), _MARK.match(line)
    bullet, indent = line.lstrip(" >").startswith("- "), len(line) - len(line.lstrip(" >|"))
    strong = bool(mark and (mark["sharp"] or mark["word"] or mark["th"] or mark["close"]))
    name = exact(table, whole)
    if not mark or not (strong or mark["rest"].startswith(" ")) or (name and name.end > 1):
        return Row(_from_name(table, whole), None, False, bullet, indent)
    content, again = words(mark["rest"]), _MARK.match(mark["rest"])
    if again and again["close"] and not exact(table, content) and exact(table, words(again["rest"])):
        content = words(again["rest"])  # the prompt's number before the name: "1. [3] Name"
    return Row(_from_name(table, content), int(mark["n"]), strong, bullet, indent)


def _from_name(table: NameTable, text: list[Word]) -> list[Word]:
    """The words without an article in front that no name has."""
    return text[1:] if text and text[0].text in ("the", "a", "an") and not exact(table, text) else text


def _listed(value: object) -> list[str]:
    """Names in a JSON value, best first."""
    if isinstance(value, dict):
        lists = [part for part in value.values() if isinstance(part, list)]
        if lists:
            return _listed(max(lists, key=len))
        if value and all(isinstance(part, int | float) for part in value.values()):
            return sorted(value, key=value.__getitem__)  # {name: rank}
        numbered = all(
            isinstance(part, str) and re.fullmatch("[0-9]{1,3}", key) for key, part in value.items()
        )
        return [value[key] for key in sorted(value, key=int)] if numbered else []
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []
    found = []
    for place, entry in enumerate(value):
        fields = {str(key).casefold(): part for key, part in entry.items()}
        ranks = [fields[key] for key in _RANK_KEYS if isinstance(fields.get(key), int | float)]
        texts = [fields.get(key) for key in _NAME_KEYS] + list(fields.values())
        found.append((ranks[0] if ranks else None, place, next((t for t in texts if isinstance(t, str)), "")))
    return [name for _, _, name in (found if any(rank is None for rank, _, _ in found) else sorted(found))]
