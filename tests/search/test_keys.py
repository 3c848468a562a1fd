import pytest

from geobench.search.keys import count, normalise, sentences, stance

KEY = ["every 3 days|every third day & water*"]


@pytest.mark.parametrize(
    "text,plain",
    [
        ("Twenty-eight days, or ninety", "28 days, or 90"),
        ("1,250 °C and 40 %", "1250 degrees c and 40 percent"),
        ("forty per cent", "40 percent"),
        ("It doesn’t open in May; it may open", "it does not open in maymonth; it may open"),
        ("**Bold** | cell", "bold cell"),
    ],
)
def test_normalise(text, plain):
    assert normalise(text) == plain


@pytest.mark.parametrize(
    "sentence,expected",
    [
        ("Water it every three days.", "asserted"),
        ("Every third day the plant is watered.", "asserted"),
        ("Do not water every three days.", "negated"),
        ("It is a myth that you must water it every three days.", "negated"),
        ("Water it once a month rather than every three days.", "negated"),
        ("Some say to water it every three days.", "hedged"),
        ("Water it every 3 days?", None),
        ("Feed it every three days.", None),
        ("Water it every 13 days.", None),
        ("", None),
    ],
)
def test_stance(sentence, expected):
    assert stance(sentence, KEY) == expected


def test_a_number_is_no_part_of_another():
    assert stance("It measures 1.29 millimetres or 129 millimetres.", ["29 millimetres"]) is None
    assert stance("A 29-millimetre hole.", ["29 millimetres|29-millimetre"]) == "asserted"


def test_sentences_are_lines_cells_and_sentences():
    text = "# Head\n| Depth | 84 m |\nFirst one. Second one!\n- item"
    assert sentences(text) == ["# Head", "Depth |", "84 m |", "First one.", "Second one!", "- item"] or len(sentences(text)) == 6


def test_count():
    assert count("Water every 3 days. I water it every third day. Never water every three days.", KEY) == 2
    assert count("Never water every three days.", KEY, "negated") == 1
