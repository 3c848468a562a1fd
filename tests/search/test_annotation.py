"""A small sheet, out and in again, whose statistics are known."""

import csv

import pytest

from geobench.errors import GeoBenchError
from geobench.search import annotation
from geobench.search.corpus import load_instances


def answers():
    names = [i.name for i in load_instances()][:6]
    levels = [0.0, 0.5, 1.0, 1.0, 0.0, 1.0]
    return [{"name": n, "condition": "id", "victim": "v", "answer": f"<b>{n}</b> & so", "asr": a} for n, a in zip(names, levels)]


def test_the_sample_is_stratified_and_repeatable():
    rows = annotation.sample(answers(), 1)
    assert sorted(r["asr"] for r in rows) == [0, 0.5, 1] and rows == annotation.sample(answers()[::-1], 1)
    assert len(annotation.sample(answers(), 99)) == 6
    assert annotation.sample([a | {"asr": None} for a in answers()], 9) == []


def test_a_sheet_goes_out_and_comes_back(tmp_path):
    rows = annotation.sample(answers(), 9)
    table, form = annotation.export(rows, load_instances(), tmp_path)
    page = form.read_text()
    assert page.count("<fieldset") == 6 and "<b>" not in page and "&lt;b&gt;" in page and "http" not in page
    assert "condition" not in table.read_text().splitlines()[0]
    assert all(v == {"asr": None, "remove": ""} for v in annotation.read_labels(table).values())
    filled = list(csv.DictReader(table.open()))
    for row, level in zip(filled, ["1", "0.5", "0", "1", "", "0"]):
        row |= {"asr": level, "remove": "implausible" if level == "0.5" else ""}
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, annotation.FIELDS)
        writer.writeheader()
        writer.writerows(filled)
    found = annotation.read_labels(table)
    assert [v["asr"] for v in found.values()] == [1, 0.5, 0, 1, None, 0]
    items = {r["item"]: r["name"] for r in rows}
    assert annotation.removals({"A": found}, items) == [{"name": rows[1]["name"], "reader": "A", "reason": "implausible"}]


def test_a_sheet_that_a_reader_has_filled_in_stays(tmp_path):
    rows = annotation.sample(answers(), 9)
    table, _ = annotation.export(rows, load_instances(), tmp_path)
    filled = table.read_text().replace(",,\n", ",0.5,\n", 1)
    table.write_text(filled)
    with pytest.warns(UserWarning, match=r"annotation.csv holds a reader's labels .* rename it to labels_NAME.csv"):
        annotation.export(rows, load_instances(), tmp_path)
    assert table.read_text() == filled and [v["asr"] for v in annotation.read_labels(table).values()].count(0.5) == 1


def test_saved_forms_in_a_folder_are_readers(tmp_path):
    rows = answers()
    keys = [annotation.item_of(r["name"], r["condition"], r["victim"]) for r in rows]
    for reader, levels in (("ann", "0 0.5 1 1 0 1"), ("bob", "0 0.5 1 1 1 1")):
        lines = [f"{k},{level},{'odd' if level == '0.5' else ''}" for k, level in zip(keys, levels.split())]
        (tmp_path / f"labels_{reader}.csv").write_text("item,asr,remove\n" + "\n".join(lines) + "\n")
    labels = annotation.imported(tmp_path)
    assert list(labels) == ["ann", "bob"]
    table = annotation.readers_table(rows, labels, 50).set_index(["raters", "statistic"])["kappa"]
    assert table["judge / ann", "cohen"] == 1 and table["judge / bob", "cohen"] == pytest.approx(1 - (1 / 6) / (1 - (2 + 1 + 12) / 36))
    assert ("all", "fleiss") in table.index and annotation.readers_table(rows, {}, 50).empty and annotation.imported(tmp_path / "x") == {}


def test_only_labelled_answers_that_are_known_count(tmp_path):
    rows = answers()
    keys = [annotation.item_of(r["name"], r["condition"], r["victim"]) for r in rows]
    rows[5]["asr"] = None  # the judge gave no verdict
    lines = [f"{k},{level},\n" for k, level in zip(keys, ["0", "", "1", "1", "0", "1"])]
    for reader in ("ann", "bob"):
        (tmp_path / f"labels_{reader}.csv").write_text("item,asr,remove\n" + "".join(lines) + "stranger,1,\n")
    table = annotation.readers_table(rows, annotation.imported(tmp_path), 50)
    assert set(table["n"]) == {4} and set(table["kappa"]) == {1.0}  # six, without an empty label and without a verdict


@pytest.mark.parametrize("names, said", [
    (["labels_judge.csv"], "labels_judge.csv: the reader's name `judge` is kept for the table's own rows; expected labels_NAME.csv"),
    (["labels-All.csv"], "the reader's name `All` is kept"),
    (["labels_ann.csv", "labels-ann.csv"], "the reader's name `ann` has another file"),
    (["labels.csv", "labels_reader.csv"], "the reader's name `reader` has another file"),
])  # fmt: skip
def test_no_file_takes_the_judges_place_or_another_readers(tmp_path, names, said):
    for name in names:
        (tmp_path / name).write_text("item,asr\nx,1\n")
    with pytest.raises(GeoBenchError) as error:
        annotation.imported(tmp_path)
    assert said in str(error.value)


def test_known_statistics():
    a = dict(zip("abcd", [0.0, 0.0, 1.0, 1.0]))
    b = dict(zip("abcd", [0.0, 0.0, 1.0, 0.5]))
    table = annotation.agreement_table({"A": a, "B": b, "C": a}, resamples=20).set_index(["raters", "statistic"])
    assert table.loc[("A / B", "cohen"), "kappa"] == pytest.approx(0.6)
    # Linear: observed cost 0.5/4; expected (1/2 x (1/4 x .5 + 1/4) + 1/2 x (1/2 + 1/4 x .5)) = 0.5; kappa = 1 - 0.125 / 0.5.
    assert table.loc[("A / B", "cohen, linear weights"), "kappa"] == pytest.approx(0.75)
    assert table.loc[("A / C", "cohen"), "kappa"] == 1 and ("all", "fleiss") in table.index
    assert len(annotation.agreement_table({"A": a, "B": {"z": 1.0}})) == 0


@pytest.mark.parametrize(
    "text,said",
    [
        ("item,remove\nx,\n", "no column asr"),
        ("item,asr\nx,2\n", "l.csv:2: asr must be 1, 0.5 or 0, got '2'"),
        ("item,asr\nx,1\nx,0\n", "comes twice"),
    ],
)
def test_bad_sheets(tmp_path, text, said):
    (tmp_path / "l.csv").write_text(text)
    with pytest.raises(GeoBenchError, match=said):
        annotation.read_labels(tmp_path / "l.csv")
