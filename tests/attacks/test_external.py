"""A user's own edits, from JSON lines and CSV (bad files: tests/test_preflight.py)."""

import json

import pytest

from geobench.attacks import external
from geobench.catalog import Selected
from geobench.errors import GeoBenchError


def test_suffix_and_text(cameras, tmp_path):
    file = tmp_path / "e.csv"
    file.write_text('dataset,list,target,suffix,text\ntests,cameras,1,"Buy,\nnow",\ntests,cameras,4,,New text\n', encoding="utf-8-sig")
    edits = {task.target: edit for task, edit in external.read(str(file), [Selected(cameras, (1,))])}
    assert edits[1] == {"mode": "suffix", "suffix": "Buy, now", "text": "A bright lens. Buy, now"}
    assert edits[4] == {"mode": "rewrite", "suffix": None, "text": "New text"}


def test_a_line_separator_inside_a_text_is_no_new_row(cameras, tmp_path):
    file = tmp_path / "e.jsonl"
    file.write_text('{"dataset": "tests", "list": "cameras", "target": "2", "text": "a\u2028b"}\n', encoding="utf-8")
    ((task, edit),) = external.read(str(file), [Selected(cameras, ())])
    assert task.item.name == "Beta Two" and edit["text"] == "a\u2028b"


ROW = {"dataset": "tests", "list": "cameras", "target": 2, "text": "New text"}


@pytest.mark.parametrize(
    "change,said",
    [
        ({"text": "a\x1b[31m"}, r"e.jsonl row 1: the text holds the control character U\+001B"),
        ({"text": "a\0"}, r"row 1: the text holds the control character U\+0000"),
        ({"text": "a\ud800"}, "e.jsonl:1: expected a JSON object, got .*hex escape"),
        ({"text": 5}, "row 1: give either suffix or text, as a text that is not empty, got .*5"),
        ({"text": None, "suffix": ["x"]}, "row 1: give either suffix or text"),
        ({"target": True}, "row 1: needs dataset, list and a whole-number target, got .*True"),
        ({"target": "9" * 5000}, "row 1: needs dataset, list and a whole-number target"),
        ({"target": 2.0}, "row 1: needs dataset, list and a whole-number target"),
        ({"dataset": ["tests"]}, "row 1: dataset: expected a text, got"),
        ({"list": 5}, "row 1: list: expected a text, got '5'"),
    ],
)
def test_rows_of_wrong_kinds_and_odd_characters_are_named(cameras, tmp_path, change, said):
    (tmp_path / "e.jsonl").write_text(json.dumps(ROW | change) + "\n")
    with pytest.raises(GeoBenchError, match=said):
        external.read(str(tmp_path / "e.jsonl"), [Selected(cameras, ())])
