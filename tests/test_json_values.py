import json

import pytest

from geobench.errors import GeoBenchError
from geobench.json_values import json_lines, parse_json, require_kinds


def test_ordinary_json_stays_what_it_is():
    assert parse_json('{"a": ["\\ud83d\\ude00", "\u2028", 1.5]}') == {"a": ["\U0001f600", "\u2028", 1.5]}
    assert parse_json(b'"\xc3\xa9"') == "\u00e9"


def test_surrogates_pass_where_they_are_asked_for():
    assert parse_json('"\\ud800"', surrogates=True) == "\ud800"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '"\\ud800"', '{"\\uDFFF": 1}', "9" * 5000, "nope", b"\xff"])
def test_what_cannot_be_read_or_stored_is_a_value_error(text):
    with pytest.raises(ValueError):
        parse_json(text)


def test_lines_are_numbered_and_end_at_line_feeds_alone(tmp_path):
    file = tmp_path / "x.jsonl"
    file.write_bytes('\ufeff{"a": "b\u2028c"}\r\n\r\nnull\n[1]'.encode())
    assert list(json_lines(file)) == [(1, {"a": "b\u2028c"}), (3, None), (4, [1])]


@pytest.mark.parametrize(
    "line,said",
    [
        ("[" * 5000, r"x.jsonl:2: expected a JSON object, got '\[\[\[.* \(recursion limit"),
        (json.dumps({"a": "\ud800"}), r"x.jsonl:2: expected a JSON object, got .*hex escape"),
        ("{", r"x.jsonl:2: expected a JSON object, got '\{' \(EOF while parsing"),
    ],
)
def test_the_line_that_is_wrong_is_named(tmp_path, line, said):
    (tmp_path / "x.jsonl").write_text(f"{{}}\n{line}\n")
    with pytest.raises(GeoBenchError, match=said):
        list(json_lines(tmp_path / "x.jsonl"))


def test_no_utf_8(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(GeoBenchError, match="x.jsonl: not a readable UTF-8 file"):
        list(json_lines(tmp_path / "x.jsonl"))


@pytest.mark.parametrize(
    "row,said",
    [
        ({"a": ["x"]}, r"f:1: a: expected a text, got"),
        ({"b": True}, "f:1: b: expected a whole number, got 'True'"),
        ({"b": 1.0}, "f:1: b: expected a whole number, got '1.0'"),
    ],
)
def test_kinds(row, said):
    require_kinds({"a": "x", "b": 1, "c": None}, {"a": str, "b": int, "c": str, "d": int}, "f:1")
    with pytest.raises(GeoBenchError, match=said):
        require_kinds(row, {"a": str, "b": int}, "f:1")
