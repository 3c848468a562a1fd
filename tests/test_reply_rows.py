"""Rows of a reply: what is taken off the front of a line, lists in one line, JSON, identifiers."""

import pytest

from geobench.matching import name_table
from geobench.reply_rows import identifiers, json_rows, list_text, rows, without_fences

TABLE = name_table(["Sony", "Bose", "5 Takeaways: News"])


def front(line):
    row = rows(TABLE, list_text(line))[0]
    return row.number, row.strong, " ".join(word.text for word in row.words)


@pytest.mark.parametrize(
    ("line", "number", "strong"),
    [
        ("1. Sony", 1, True),
        ("12) Sony", 12, True),
        ("(3) **Sony**", 3, True),
        ("#4 Sony", 4, True),
        ("## 5. Sony", 5, True),
        ("| 6 | Sony |", 6, True),
        ("7 - Sony", 7, True),
        ("Rank 8: Sony", 8, True),
        ("9th Sony", 9, True),
        ("⑩ Sony", 10, True),
        ("¹¹ Sony", 11, True),
        ("1️⃣2️⃣ Sony", 12, True),
        ("🥉 Sony", 3, True),
        ("2 Sony", 2, False),
        ("1. [2] Sony", 1, True),
        ("1. The Sony", 1, True),
        ("- Sony", None, False),
        ("Sony", None, False),
    ],
)
def test_numbers_in_front(line, number, strong):
    assert front(line) == (number, strong, "sony")


@pytest.mark.parametrize(
    "line", ["3.10ct ring", "4-Light lamp", "1974 Jeep", "10v lamp", "1/2 inch", "3d print"]
)
def test_numbers_that_are_no_list_numbers(line):
    assert front(line)[0] is None


def test_a_number_of_a_name_stays_with_it():
    assert front("5 Takeaways: News") == (None, False, "5 takeaways news")
    assert front("2. 5 Takeaways: News") == (2, True, "5 takeaways news")


def test_bullets_and_indents():
    lines = rows(TABLE, list_text("* Sony\n   • Bose\nSony"))
    assert [(row.bullet, row.indent) for row in lines] == [(True, 0), (True, 3), (False, 0)]


def test_a_list_in_one_line_is_broken_up():
    assert list_text("Best: 1. Sony 2. Bose").split("\n") == ["best: ", "1. sony ", "2. bose"]
    assert list_text("1. Sony 2. mark\n2. Bose").split("\n") == ["1. sony 2. mark", "2. bose"]


def test_fences_go_and_content_stays():
    assert without_fences("```json\n[1]\n```").split() == ["[1]"]


@pytest.mark.parametrize(
    "text",
    [
        '["Bose", "Sony"]',
        'Sure: {"a": 1, "ranking": [{"position": 2, "Name": "Sony"}, {"position": 1, "Name": "Bose"}]}!',
        '[{"product": "Bose", "why": "Sony"}, {"product": "Sony"}]',
        '{"2": "Sony", "1": "Bose"}',
        '{"Sony": 2, "Bose": 1}',
        '["1. Bose", "2. Sony"]',
    ],
)
def test_json(text):
    assert [row.words[0].text for row in json_rows(TABLE, text)] == ["bose", "sony"]


@pytest.mark.parametrize(
    "text", ["no json", "[1, 2]", "[broken", '{"a": 1', "[" * 3000, "{}", '{"n": ' + "9" * 5000]
)
def test_no_json(text):
    assert [row for row in json_rows(TABLE, text) if row.words] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[3] > [1] > [2]", [2, 0, 1]),
        ("3, 1, 2", [2, 0, 1]),
        ("1. [3]\n2. [1]", [2, 0]),
        ("1. item 3\n2. item 1", [2, 0]),
        ("3\n1\n2", [2, 0, 1]),
        ("here:\n3 > 2", [2, 1]),
        ("1.\n2.\n3.", []),
        ("3 > 3", []),
        ("0 > 1", []),
        ("4 > 1", []),
        ("3", []),
        ("3 stars\n2 stars", []),
    ],
)
def test_identifiers(text, expected):
    assert identifiers(list_text(text), 3) == expected
