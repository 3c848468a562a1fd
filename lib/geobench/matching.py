"""Finding an item's name in text.

Names and text are compared as lists of words, so "R6" is never found in "R6X", and where two names fit the
longer one wins: "R6" is not found in "R6 Mark II" when that is a name too. Case, accents of quotes, dashes,
markdown, "&" against "and" and punctuation that a name has but the text drops make no difference; punctuation
that the text has and the name lacks ("Pro: Max comfort") ends the name. Compromise: there is no spelling
distance. A name without a letter or digit cannot be found.
"""

import html
import re
import unicodedata
from collections import Counter
from typing import NamedTuple

# Words that say nothing about which item is meant.
SMALL_WORDS = frozenset(
    ["a", "an", "the", "of", "for", "with", "in", "on", "to", "by", "from", "is", "my", "no"]
)
ENOUGH = 0.6  # part of a name's words that its shortened form must hold, unless those words are telling
LONG_RUN = 4  # words of a long name that are enough, if they can be no other free item
_ENTITY = re.compile(r"&(?:#\w{1,8}|[A-Za-z]\w{1,12});")
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad\ufe0f™®©]")
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛´ʼ′", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–−", "-"),
        **dict.fromkeys("—―", " - "),
        **dict.fromkeys("*`~\\", ""),
        "_": " ",
        "→": ">",
        "\r": "\n",
        "\t": "    ",
    }
)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*(?:[+#]+(?![^\W_]))?")
_BREAK = re.compile(r'[:;,()\[\]{}|"<>=!?\n]|\.\s|\s-+\s|--')


class Word(NamedTuple):
    """A word of a text; `broken`: punctuation that can end a name stands between it and the word before."""

    text: str
    broken: bool


class NameTable(NamedTuple):
    """The L names of a list: words and joined letters of each, and in how many names a word occurs."""

    words: list[list[Word]]
    joined: list[str]
    shared: Counter


class Hit(NamedTuple):
    """Item found, the index of the word after its name, and whether the name stood there in full."""

    item: int
    end: int
    full: bool


def plain(text: str) -> str:
    """Text without case, markdown, invisible characters or typographic variants (NFKC); line ends stay."""
    text = _INVISIBLE.sub("", _ENTITY.sub(lambda match: html.unescape(match[0]), text)).translate(_PLAIN)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).translate(_PLAIN)


def words(text: str) -> list[Word]:
    """Words of a `plain` text: apostrophes dropped, a "+" or "#" at the end kept, "and" left out."""
    found, last = [], 0
    for match in _WORD.finditer(text):
        if match[0] != "and":
            found.append(Word(match[0].replace("'", ""), bool(_BREAK.search(text, last, match.start()))))
            last = match.end()
    return found or [Word("and", False)] * ("and" in text)


def name_table(names: list[str]) -> NameTable:
    """Table of the names that `exact`, `shortened` and `mentions` look for."""
    split = [words(plain(name)) for name in names]
    shared = Counter(text for name in split for text in {word.text for word in name})
    return NameTable(split, [_joined(name) for name in split], shared)


def exact(table: NameTable, text: list[Word], at: int = 0) -> Hit | None:
    """The longest name that begins at word `at`.

    Where the text then goes on like a longer name ("R6 Mk II" beside the names "R6" and "R6 Mark II"), the
    hit is that name, not `full`; None if it could be several.
    """
    fits = [i for i, name in enumerate(table.words) if name and _begins(name, text[at : at + len(name)])]
    if not fits:
        return None
    best = max(fits, key=lambda i: len(table.words[i]))
    end = at + len(table.words[best])
    next_words = set()
    for word in text[end : end + 2]:
        if word.broken:
            break
        next_words.add(word.text)
    meant = [i for i, name in enumerate(table.words) if next_words & _extension(table.words[best], name)]
    if meant:
        return Hit(meant[0], end, False) if len(meant) == 1 else None
    return Hit(best, end, True)


def shortened(table: NameTable, text: list[Word], taken: set[int], known: dict) -> int | None:
    """The one item not in `taken` that the start of `text` can be a short form of, else None.

    Tried on the whole text, then on what stands before each break, longest first; one that can mean several
    items ends the search. `known` remembers short forms, so that a repeated one means the same item again.
    """
    if not text:
        return None
    free = [i for i, name in enumerate(table.words) if i not in taken and name]
    most = 3 * max(map(len, table.words))  # no longer text is a short form
    for end in [i for i in range(min(len(text), most), 0, -1) if i == len(text) or text[i].broken]:
        head = tuple(word.text for word in text[:end])
        same = [i for i, joined in enumerate(table.joined) if joined == _joined(text[:end])]
        fits = [known[head]] if head in known else same or [i for i in free if _within(head, table.words[i])]
        if fits:
            sure = head in known or same or _telling(table, head, table.words[fits[0]])
            return known.setdefault(head, fits[0]) if len(fits) == 1 and sure else None
    runs = {i: _run(table.words[i], text) for i in free}
    longest = [i for i, run in runs.items() if run == max(runs.values())]
    enough = len(longest) == 1 and runs[longest[0]] >= max(LONG_RUN, ENOUGH * len(table.words[longest[0]]))
    return longest[0] if enough else None


def mentions(table: NameTable, text: list[Word]) -> list[int]:
    """Items whose names stand in full anywhere in the text, by first mention."""
    order, at = [], 0
    while at < len(text):
        hit = exact(table, text, at)
        if hit and hit.full and hit.item not in order:
            order.append(hit.item)
        at = max(hit.end, at + 1) if hit else at + 1
    return order


def _begins(name: list[Word], text: list[Word]) -> bool:
    """Whether the text's words are the name's, with no break that the name lacks."""
    pairs = zip(name, text, strict=False)
    return len(name) == len(text) and all(
        n.text == t.text and (not k or n.broken or not t.broken) for k, (n, t) in enumerate(pairs)
    )


def _extension(short: list[Word], name: list[Word]) -> set[str]:
    """The telling words that `name` has after `short`; empty unless it begins with it."""
    begins = [w.text for w in name[: len(short)]] == [w.text for w in short]
    return {w.text for w in name[len(short) :]} - SMALL_WORDS if begins else set()


def _joined(text: list[Word]) -> str:
    """Letters and digits without spaces and accents: "document 3" and "Document3" are the same."""
    joined = unicodedata.normalize("NFD", "".join(word.text for word in text))
    return "".join(c for c in joined if not unicodedata.combining(c))


def _within(head: tuple[str, ...], name: list[Word]) -> bool:
    """Whether all words of `head` come in `name`, in order; the last may be cut if the name begins so."""
    left, last = iter(word.text for word in name), len(head) - 1
    if all(word in left for word in head):
        return True
    begins = last < len(name) and head[:-1] == tuple(word.text for word in name[:last])
    return begins and last > 2 and len(head[-1]) > 2 and name[last].text.startswith(head[-1])


def _telling(table: NameTable, head: tuple[str, ...], name: list[Word]) -> bool:
    """Whether `head` says enough: most or many of the words, or one no other name has; no short number."""
    if all(word.isdigit() and len(word) < 4 for word in head):
        return False
    part = len(head) / len(name)
    own = any(table.shared[word] == 1 and word not in SMALL_WORDS for word in head)
    return (
        part >= ENOUGH
        or len(head) >= LONG_RUN
        or (own and (len(head) > 1 or head[0] == name[0].text or part >= 1 / 3))
    )


def _run(name: list[Word], text: list[Word]) -> int:
    """How many words the name and the text begin with in common."""
    run = 0
    while run < min(len(name), len(text)) and name[run].text == text[run].text:
        run += 1
    return run
