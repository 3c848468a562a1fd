"""A user's own edits, from JSON lines and CSV (bad files: tests/test_preflight.py)."""

from geobench.attacks import external
from geobench.catalog import Selected


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
