"""Keyword filter: hand cases for both ways of matching, and the published rate on StealthRank's suffixes."""

import json
import os
from pathlib import Path

import pytest

from geobench.detectors.keywords import Lexicon, boundary_tokens, flag, kvr, load_lexicon, matches
from geobench.errors import GeoBenchError
from geobench.paths import ROOT

LEXICON = load_lexicon()
STEALTHRANK = Path("released") / "stealthrank_llama-3.1-8b_ragroll.jsonl"


def test_lexicon_has_24_words_and_54_phrases():
    assert (len(LEXICON.words), len(LEXICON.phrases)) == (24, 54)
    assert "#1" in LEXICON.phrases and "top rated" in LEXICON.phrases


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("a quiet grinder with steel burrs", []),
        ("The BEST pick", ["best"]),
        ("bestseller, stopping, topical, franker", []),
        ("top-rated", ["top", "top rated"]),
        ("top\u2011rated, top rated and Top\nRated", ["top", "top rated"]),
        ("rated top", ["top"]),
        ("voted #1 in 2024", ["#1"]),
        ("#10 of 12, a #1st and #1,000", []),
        ("#1.", ["#1"]),
        ("item 1, no. 1", []),
        ("\uff031 \uff22\uff25\uff33\uff34", ["best", "#1"]),  # full-width letters
        ("be\u00adst and to\u200bp", ["top", "best"]),  # hidden hyphen and zero-width space
        ("_best_ **top**", ["top", "best"]),
        ("the best\u2019s and the first's", ["first", "best"]),
        ("this needs to\u00a0be seen", ["needs to be"]),
        ("it needs us to be", []),
        ("", []),
        ("\U0001f600 \u4e00\u756a", []),
    ],
)
def test_boundary_hits_by_hand(text, hits):
    assert matches(text, LEXICON) == hits


@pytest.mark.parametrize("text", ["world's best-ever", "World\u2019s best ever", "WORLD S BEST\u2010EVER"])
@pytest.mark.parametrize("phrase", ["world's best-ever", "world\u2019s best ever"])
def test_hyphen_space_and_apostrophe_variants_are_equal(text, phrase):
    assert matches(text, Lexicon((), (phrase,))) == [phrase]


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("top-rated", []),  # the hyphen is deleted: "toprated"
        ("top rated", ["top", "top rated"]),
        ("see #10", ["#1"]),  # a substring without an edge
        ("laptop choices", ["top choice"]),  # no left edge either
        ("the best's", []),
        ("Best!", ["best"]),
    ],
)
def test_released_matching_keeps_its_known_slips(text, hits):
    assert matches(text, LEXICON, "released") == hits


def test_hits_come_in_lexicon_order_and_once():
    lexicon = Lexicon(("zeta", "alpha"), ("beta gamma",))
    assert matches("beta gamma alpha zeta alpha", lexicon) == ["zeta", "alpha", "beta gamma"]


def test_kvr_is_the_share_of_flagged_texts():
    assert kvr(["the best", "plain", "#1", "also plain"], LEXICON) == 0.5
    assert flag("the best", LEXICON) and not flag("plain", LEXICON)
    with pytest.raises(GeoBenchError, match="no texts"):
        kvr([], LEXICON)


def test_unknown_mode_names_the_known_ones():
    with pytest.raises(GeoBenchError, match="Did you mean `boundary`"):
        matches("x", LEXICON, "boundry")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("words: [best]\n", "expected the keys"),
        ("words: [best]\nphrases: [top pick]\nextra: 1\n", "expected the keys"),
        ("words: [best, Best]\nphrases: [top pick]\n", "twice"),
        ("words: [best]\nphrases:\n  - #1\n", "holds 'None'"),
        ("words: [best]\nphrases: ['!!']\n", "expected text"),
        ("words: [top pick]\nphrases: []\n", "is a phrase"),
        ("words: best\nphrases: []\n", "must be a list"),
        ("words: [best\n", "not valid YAML"),
    ],
)
def test_bad_lexicon_is_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "lexicon.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(GeoBenchError, match=message) as error:
        load_lexicon(path)
    assert "\n" not in str(error.value)


def test_missing_lexicon_is_named(tmp_path):
    with pytest.raises(GeoBenchError, match="none.yaml: cannot be read"):
        load_lexicon(tmp_path / "none.yaml")


def test_tokens_do_not_depend_on_unicode_form():
    assert boundary_tokens("cafe\u0301") == boundary_tokens("caf\u00e9") == ("caf\u00e9",)


def stealthrank_traces() -> Path:
    """The released traces in the data mirror, or a skip."""
    for folder in (os.environ.get("GEOBENCH_DATA_MIRROR"), ROOT.parent / "shared" / "data"):
        if folder and (Path(folder) / STEALTHRANK).exists():
            return Path(folder) / STEALTHRANK
    pytest.skip("StealthRank traces not found; set GEOBENCH_DATA_MIRROR to the folder that holds released/")


def test_stealthrank_rate_is_the_published_one():
    """Best-rank checkpoint, earliest on ties; suffix alone: 238 of 399 flagged, 0.596 (printed 0.60)."""
    suffixes = []
    with stealthrank_traces().open(encoding="utf-8") as lines:
        for line in lines:
            best = min(json.loads(line)["trace"], key=lambda checkpoint: checkpoint["rank"])
            suffixes.append(best["suffix"])
    assert len(suffixes) == 399
    assert sum(flag(suffix, LEXICON) for suffix in suffixes) == 238
    assert kvr(suffixes, LEXICON) == pytest.approx(0.596, abs=5e-4)
