"""Names in text: words, breaks, the longest name, short forms."""

import pytest

from geobench.matching import exact, mentions, name_table, plain, shortened, words

CAMERAS = ["Canon EOS R6", "Canon EOS R6 Mark II", "Sony A7 IV", "Nikon Z6 II"]


def split(text):
    return words(plain(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Detective’s Secret", ["the", "detectives", "secret"]),
        ("BLACK+DECKER", ["black", "decker"]),
        ("Salt & Pepper", ["salt", "pepper"]),
        ("Salt and Pepper", ["salt", "pepper"]),
        ("C++ or C#", ["c++", "or", "c#"]),
        ("**S21+** (new)", ["s21+", "new"]),
        ("Straße ＡＢ①", ["strasse", "ab1"]),
        ("soft\u00adware\u200b Zoo™", ["software", "zoo"]),
        ("Tom &amp; Jerry", ["tom", "jerry"]),
        ("and", ["and"]),
        ("★ !", []),
    ],
)
def test_words(text, expected):
    assert [word.text for word in split(text)] == expected


def test_breaks_stand_where_a_name_can_end():
    text = "Pro: Max, 2.0 x - y co. z a-b c—d"
    assert [word.text for word in split(text) if word.broken] == ["max", "2", "y", "z", "d"]


def test_exact_takes_the_longest_name_with_whole_words():
    table = name_table(CAMERAS)
    assert exact(table, split("Canon EOS R6 Mark II body"))[:2] == (1, 5)
    assert exact(table, split("Canon EOS R6 body"))[:2] == (0, 3)
    assert exact(table, split("Canon EOS R6X")) is None
    assert exact(table, split("my Nikon Z6 II"), 1)[:2] == (3, 4)


def test_exact_sees_that_a_longer_name_is_meant():
    table = name_table(["R6", "R6 Mark II", "R6 Mark III"])
    assert exact(table, split("R6 Mk II")) == (1, 1, False)
    assert exact(table, split("R6 Mark 4")) is None  # either of the two
    assert exact(table, split("R6: Mark II is dearer")) == (0, 1, True)
    assert exact(table, split("R6 is fine")) == (0, 1, True)


def test_exact_allows_to_drop_punctuation_but_not_to_add_it():
    table = name_table(["Astebreed: Definitive Edition", "Pro Max"])
    assert exact(table, split("Astebreed Definitive Edition")).item == 0
    assert exact(table, split("Astebreed - Definitive Edition")).item == 0
    assert exact(table, split("Pro: Max")) is None


@pytest.mark.parametrize(
    ("text", "taken", "expected"),
    [
        ("Sony", set(), 2),  # a word that only this name has
        ("Canon", set(), None),
        ("Canon EOS", {1}, 0),  # two words of three, and the other Canon is placed
        ("Canon", {1}, None),  # one word of three that both Canons have
        ("A7 IV: a fine camera", set(), 2),
        ("Sony A7IV", set(), 2),
        ("Sony A7 III", set(), None),
        ("6", set(), None),
        ("", set(), None),
    ],
)
def test_shortened(text, taken, expected):
    assert shortened(name_table(CAMERAS), split(text), taken, {}) == expected


def test_shortened_remembers():
    table, known = name_table(CAMERAS), {}
    assert shortened(table, split("Canon R6 II"), set(), known) == 1
    assert shortened(table, split("Canon R6 II"), {1}, known) == 1


def test_mentions_in_order_each_once():
    text = "The Nikon Z6 II beats the Canon EOS R6 Mark II and the Nikon Z6 II beats the Canon EOS R6."
    assert mentions(name_table(CAMERAS), split(text)) == [3, 1, 0]


def test_a_name_without_letters_is_never_found():
    assert mentions(name_table(["★", "Star"]), split("★ Star")) == [1]
