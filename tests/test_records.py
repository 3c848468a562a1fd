"""Record files: resuming, torn lines, other fingerprints, superseding."""

import json

import pytest

from geobench.errors import GeoBenchError
from geobench.records import Records, differences, read_fingerprint, read_records, sound

PRINT = {"model": {"name": "a", "revision": "1"}, "seed": 3}


def unit(target, **more):
    return {"dataset": "d", "list": "l", "target": target, **more}


def test_a_file_resumes(tmp_path):
    path = tmp_path / "deep" / "r.jsonl"
    with Records(path, PRINT) as records:
        records.append(unit(1, score=0.5))
        assert read_records(path) == [unit(1, score=0.5)]  # on disk before the file is closed
    with Records(path, PRINT) as records:
        assert records.done == {("d", "l", 1): unit(1, score=0.5)}
        records.append(unit(2, text="é\u2028x\ny"))
    assert read_records(path)[1] == unit(2, text="é\u2028x\ny")
    assert read_fingerprint(path) == PRINT


def test_a_torn_last_line_is_dropped(tmp_path):
    path = tmp_path / "r.jsonl"
    with Records(path, PRINT) as records:
        records.append(unit(1))
        records.append(unit(2))
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.warns(UserWarning, match="torn last line"):
        assert read_records(path) == [unit(1)]
    with pytest.warns(UserWarning, match="torn last line"):
        records = Records(path, PRINT)
    with records:
        assert list(records.done) == [("d", "l", 1)]
        records.append(unit(2, score=1))
    assert read_records(path) == [unit(1), unit(2, score=1)]


def test_a_torn_fingerprint_starts_over(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"fingerpr')
    with pytest.warns(UserWarning, match="torn"):
        records = Records(path, PRINT)
    with records:
        records.append(unit(1))
    assert read_fingerprint(path) == PRINT and read_records(path) == [unit(1)]


def test_another_fingerprint_is_refused_with_what_differs(tmp_path):
    path = tmp_path / "r.jsonl"
    Records(path, PRINT).__exit__()
    with pytest.raises(GeoBenchError) as error:
        Records(path, {"model": {"name": "a", "revision": "2"}, "seed": 3})
    assert "model.revision: '1' -> '2'" in str(error.value) and "seed" not in str(error.value)
    assert read_fingerprint(path) == PRINT


def test_differences_name_missing_leaves():
    assert differences({"a": 1}, {"b": (2)}) == ["a: 1 -> None", "b: None -> 2"]


def test_a_later_record_supersedes(tmp_path):
    path = tmp_path / "r.jsonl"
    with Records(path, PRINT) as records:
        records.append(unit(1, score=1))
        records.append(unit(1, score=2))
        assert records.done[("d", "l", 1)]["score"] == 2
    with Records(path, PRINT) as records:
        assert [r["score"] for r in records.done.values()] == [2]


def test_broken_files_are_named(tmp_path):
    with pytest.raises(GeoBenchError, match="no records at"):
        read_records(tmp_path / "none.jsonl")
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"fingerprint": {}}) + "\nnot json\n")
    with pytest.raises(GeoBenchError, match=r"r.jsonl:2: not a JSON record"):
        read_records(path)
    path.write_text(json.dumps(unit(1)) + "\n")
    with pytest.raises(GeoBenchError, match="expected the fingerprint"):
        read_records(path)


@pytest.mark.parametrize(
    "record,said",
    [
        (unit(1, text=5), "r.jsonl:2: text: expected a text, got '5'"),
        (unit(True), "r.jsonl:2: target: expected a whole number, got 'True'"),
        (unit("1"), "r.jsonl:2: target: expected a whole number, got '1'"),
        (unit(1) | {"dataset": ["d"]}, "r.jsonl:2: dataset: expected a text"),
        (unit(1) | {"list": {"a": 1}}, "r.jsonl:2: list: expected a text"),
        (unit(1, text="\ud800"), "r.jsonl:2: not a JSON record"),
    ],
)
def test_records_of_wrong_kinds_are_named(tmp_path, record, said):
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"fingerprint": PRINT}) + "\n" + json.dumps(record) + "\n")
    for read in (lambda: read_records(path), lambda: Records(path, PRINT)):
        with pytest.raises(GeoBenchError, match=said):
            read()


@pytest.mark.parametrize("line", ["[" * 5000, '{"a":' * 5000])
def test_endless_nesting_is_no_record(tmp_path, line):
    (tmp_path / "r.jsonl").write_text(json.dumps({"fingerprint": {}}) + f"\n{line}\n")
    with pytest.raises(GeoBenchError, match="r.jsonl:2: not a JSON record"):
        read_records(tmp_path / "r.jsonl")


UNIT = {"dataset": "d", "list": "l", "target": 1}


def test_a_unit_comes_once_unless_its_text_is_another(tmp_path):
    first, again = UNIT | {"text_sha": "a"}, UNIT | {"text_sha": "b"}
    assert sound([first, again], tmp_path / "x") == [first, again]
    assert sound([first, again, first], tmp_path / "x") == [first, again, first]  # an edit made anew twice, back to its first text
    with pytest.raises(GeoBenchError, match="x:3: d/l, target 1: this target comes twice"):
        sound([first, first], tmp_path / "x")
    two = [UNIT | {"variant": "tap"}, UNIT | {"variant": "sts"}]
    assert sound(two, tmp_path / "x") == two  # one target, two variants
    with pytest.raises(GeoBenchError, match="x:3: d/l, target 1: this target comes twice"):
        sound([two[0], two[0]], tmp_path / "x")
    with pytest.raises(GeoBenchError, match="x:2: list: Field required.*ranks: Field required"):
        sound([{"dataset": "d", "target": 1}], tmp_path / "x", ("ranks",))


@pytest.mark.parametrize("needed,changes,said", [
    ((), {"list": None}, "list: Input should be a valid string, got 'None'"),
    (("text",), {"dataset": ["mine"], "text": "t"}, r"""dataset: Input should be a valid string, got "\['mine'\]\""""),
    (("text",), {"text": 5}, "text: Input should be a valid string, got '5'"),
    (("text",), {}, "text: Field required"),
    (("text_sha", "ranks"), {"target": "2", "text_sha": "a", "ranks": [1]}, "target: Input should be a valid integer, got '2'"),
    (("text_sha", "ranks"), {"target": None, "text_sha": "a", "ranks": [1]}, "target: Input should be a valid integer, got 'None'"),
    (("text_sha", "ranks"), {"text_sha": "a", "ranks": [True]}, "ranks.0: Input should be a valid number, got 'True'"),
    (("orders", "ranks"), {"orders": [[0]], "ranks": [1]}, "ranks.0: Input should be a valid list, got '1'"),
    (("score",), {"score": float("inf")}, "score: Input should be a finite number, got 'inf'"),
])  # fmt: skip
def test_a_field_of_another_kind_is_named_with_its_line(tmp_path, needed, changes, said):
    with pytest.raises(GeoBenchError, match=f"x:2: {said}"):
        sound([UNIT | changes], tmp_path / "x", needed)


def test_the_record_of_a_list_needs_no_target(tmp_path):
    row = UNIT | {"target": None, "orders": [[1, 0]], "ranks": [[2, 1]], "scores": [[0.5, None]]}
    assert sound([row], tmp_path / "x", ("orders", "ranks")) == [row]


def test_what_no_utf8_file_can_hold_is_refused_on_both_ways(tmp_path):
    path = tmp_path / "r.jsonl"
    with Records(path, PRINT) as records:
        records.append(unit(1))
        for value, said in (("\ud800", "surrogates not allowed"), (float("nan"), "not JSON compliant")):
            with pytest.raises(GeoBenchError, match=f"r.jsonl: cannot hold a record .*{said}.*target': 2"):
                records.append(unit(2, text=value))
    assert read_records(path) == [unit(1)]
    for text in (rb'"\ud800"', b"NaN", b'"\xff"'):
        path.write_bytes(b'{"fingerprint": {}}\n{"text": ' + text + b"}\n")
        with pytest.raises(GeoBenchError, match="r.jsonl:2: not a JSON record"):
            read_records(path)


@pytest.mark.parametrize("given", ["3", "null", '"x"', "[]"])
def test_a_fingerprint_is_a_mapping(tmp_path, given):
    path = tmp_path / "r.jsonl"
    path.write_text(f'{{"fingerprint": {given}}}\n')
    with pytest.raises(GeoBenchError, match="r.jsonl:1: expected the fingerprint line"):
        read_fingerprint(path)
