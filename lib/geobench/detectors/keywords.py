"""Keyword filter: promotional words and phrases in a text, and the Keyword Violation Rate (KVR).

KVR is the share of edited texts with at least one hit. Two ways of matching: `boundary`, the default,
compares whole tokens, so "top-rated" is "top rated" and "#10" is not "#1"; `released` repeats the public
release's matching with its two known slips: hyphens glue words together ("top-rated" is missed) and phrases
have no edges ("#1" hits "#10").
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from geobench.errors import GeoBenchError, came, nearest
from geobench.paths import PARAMS
from geobench.yaml_values import parse_yaml

MODES = ("boundary", "released")
INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")  # soft hyphen, zero-width characters
TOKEN = re.compile(r"#\d+(?![^\W_])(?![.,]\d)|[^\W_]+")  # "#1" is a token, but "#1st" and "#1,000" have none


@dataclass(frozen=True)
class Lexicon:
    """Promotional expressions: single words and phrases, in file order."""

    words: tuple[str, ...]
    phrases: tuple[str, ...]


def load_lexicon(path: str | Path | None = None) -> Lexicon:
    """Read `words` and `phrases` from YAML (default params/lexicon.yaml).

    Raises GeoBenchError for a missing or unreadable file, other keys, and entries that are no text, hold no
    token or come twice.
    """
    path = Path(path) if path else PARAMS / "lexicon.yaml"
    try:
        content = parse_yaml(path.read_bytes(), f"lexicon {path}")
    except OSError as error:
        raise GeoBenchError(f"lexicon {path}: cannot be read ({error.strerror})") from error
    if not isinstance(content, dict) or set(content) != {"words", "phrases"}:
        raise GeoBenchError(f"lexicon {path}: expected the keys `words` and `phrases`, got {came(content)}")
    return Lexicon(*(_entries(path, kind, content[kind]) for kind in ("words", "phrases")))


def _entries(path: Path, kind: str, values: object) -> tuple[str, ...]:
    """Checked entries of one kind."""
    if not isinstance(values, list):
        raise GeoBenchError(f"lexicon {path}: `{kind}` must be a list, got {came(values)}")
    seen = set()
    for value in values:
        key = boundary_tokens(value) if isinstance(value, str) else ()
        if not key:
            raise GeoBenchError(f'lexicon {path}: `{kind}` holds {came(value)}; expected text (quote "#1")')
        if key in seen:
            raise GeoBenchError(f"lexicon {path}: `{kind}` holds {came(value)} twice")
        if kind == "words" and len(key) > 1:
            raise GeoBenchError(f"lexicon {path}: `words` holds {came(value)}, which is a phrase")
        seen.add(key)
    return tuple(values)


def boundary_tokens(text: str) -> tuple[str, ...]:
    """Case-folded tokens of `boundary` matching; hyphens, apostrophes and underscores separate."""
    return tuple(TOKEN.findall(INVISIBLE.sub("", unicodedata.normalize("NFKC", text).casefold())))


def released_tokens(text: str) -> tuple[str, ...]:
    """Tokens of `released` matching: lower case; all but word characters, whitespace and "#" deleted."""
    return tuple(re.sub(r"[^\w\s#]", "", text.lower()).split())


@lru_cache(maxsize=16)
def _boundary_needles(lexicon: Lexicon) -> tuple[tuple[str, str], ...]:
    """(entry, its tokens with a space on either side) in lexicon order."""
    entries = lexicon.words + lexicon.phrases
    return tuple((entry, f" {' '.join(boundary_tokens(entry))} ") for entry in entries)


def matches(text: str, lexicon: Lexicon, mode: str = "boundary") -> list[str]:
    """Entries of the lexicon that occur in `text`, each once, words before phrases, in lexicon order."""
    if mode == "boundary":
        haystack = f" {' '.join(boundary_tokens(text))} "
        return [entry for entry, needle in _boundary_needles(lexicon) if needle in haystack]
    if mode == "released":
        tokens = released_tokens(text)
        joined = " ".join(tokens)
        words = [word for word in lexicon.words if word in tokens]
        return words + [phrase for phrase in lexicon.phrases if phrase in joined]
    raise GeoBenchError(f"unknown keyword matching `{mode}`.{nearest(mode, MODES)}")


def flag(text: str, lexicon: Lexicon, mode: str = "boundary") -> bool:
    """Whether the keyword filter flags `text`."""
    return bool(matches(text, lexicon, mode))


def kvr(texts: Iterable[str], lexicon: Lexicon, mode: str = "boundary") -> float:
    """Keyword Violation Rate: share of `texts` flagged, 0 to 1. GeoBenchError when there are none."""
    flags = [flag(text, lexicon, mode) for text in texts]
    if not flags:
        raise GeoBenchError("keyword violation rate of no texts; expected at least one")
    return sum(flags) / len(flags)
