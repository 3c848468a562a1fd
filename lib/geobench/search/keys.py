"""Answer keys: does a sentence assert, hedge or deny a statement? Written by hand for each instance, matched by rule.

A key is a list of alternatives; one that holds is enough. An alternative is terms joined by `&`, all of which must stand in
the same sentence; a term is spellings joined by `|`; a trailing `*` matches any ending. The first term is the decisive value
(the number, name or verb that the statement turns on): negation is looked for before it.

    every 3 days|every third day & water*        holds in "Water it every three days."

Texts are compared in lower case with number words as digits, `%` as percent and a degree sign as degrees.
"""

import re
from functools import lru_cache

ONES_TO_TEN = "zero one two three four five six seven eight nine ten"
TEENS = "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
ONES = {word: n for n, word in enumerate(f"{ONES_TO_TEN} {TEENS}".split())}
TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10)))
NEGATIONS = {"not", "never", "no", "nor", "without", "cannot", "neither", "unlike", "hardly", "avoid"}
NEGATING = ("rather than", "instead of", "contrary to", "as opposed to", "no longer", "far from", "other than", "more than", "less than")
MYTHS = re.compile(r"\b(myths?|mistaken|incorrect|untrue|wrong|debunked|misconceptions?|not true|false)\b")
HEDGES = re.compile(
    r"\b(may|might|could be|perhaps|possibly|reportedly|allegedly|some (?:say|sources|claim|people|guides)|one source|unclear|uncertain|"
    r"disagree|conflicting|differ|others? (?:say|claim)|it depends|not sure|seems?|probably|supposedly)\b"
)
WINDOW = 4  # words before the decisive term in which a negation counts
_NUMBER = re.compile(rf"\b(?:({'|'.join(TENS)})(?:[- ]({'|'.join(list(ONES)[1:10])}))?|({'|'.join(ONES)}))\b")
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)*]*\s+|\n+|(?<=\|)\s")


def normalise(text: str) -> str:
    """Lower case, plain quotes and dashes, number words as digits, percent and degrees as words, single spaces."""
    text = re.sub(r"\bMay\b", "maymonth", text)  # the month is no hedge
    text = text.lower().translate(str.maketrans("‘’“”–—‑", "''\"\"---")).replace("n't", " not")
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"per cent|%", " percent ", text).replace("°", " degrees ")
    text = _NUMBER.sub(_digits, text)
    return " ".join(re.sub(r"[*_`#|]", " ", text).split())


def _digits(match: re.Match) -> str:
    if match[3]:
        return str(ONES[match[3]])
    return str(TENS[match[1]] + (ONES[match[2]] if match[2] else 0))


def sentences(text: str) -> list[str]:
    """The text's sentences, list lines and table cells, in order."""
    return [part.strip() for part in _SENTENCE.split(text) if part and part.strip(" |-*#")]


@lru_cache(maxsize=4096)
def _terms(alternative: str) -> tuple[re.Pattern, ...]:
    patterns = []
    for term in alternative.split("&"):
        spellings = [
            re.escape(normalise(s)).replace(r"\*", r"\w*") if "*" not in s else re.escape(normalise(s)) + r"\w*" for s in term.split("|")
        ]
        patterns.append(re.compile(rf"(?<![\w.-])(?:{'|'.join(spellings)})(?!\w)"))
    return tuple(patterns)


def stance(sentence: str, alternatives: list[str]) -> str | None:
    """`asserted`, `hedged`, `negated`, or None where no alternative holds or the sentence is a question."""
    text = normalise(sentence)
    if text.endswith("?"):
        return None
    found = {_reading(text, a) for a in alternatives} - {None}
    return next((s for s in ("asserted", "hedged", "negated") if s in found), None)


def _reading(text: str, alternative: str) -> str | None:
    patterns = _terms(alternative)
    matches = [p.search(text) for p in patterns]
    if not all(matches):
        return None
    before = " ".join(text[: matches[0].start()].replace(",", " , ").split()[-WINDOW - 2 :])
    near = before.split()[-WINDOW:]
    if set(near) & NEGATIONS or any(before.endswith((n, f"{n} the", f"{n} a")) for n in NEGATING) or MYTHS.search(text):
        return "negated"
    return "hedged" if HEDGES.search(text) else "asserted"


def count(text: str, alternatives: list[str], wanted: str = "asserted") -> int:
    """How many sentences of the text take this stance on the statement."""
    return sum(stance(s, alternatives) == wanted for s in sentences(text))
