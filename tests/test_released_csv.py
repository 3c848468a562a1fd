import pandas as pd
import pytest

from geobench.errors import GeoBenchError
from geobench.released import read_released

ROW = {
    "method": "authoritative", "dataset": "stsdata", "category": "books", "target_idx": 1, "L": 10, "r_before": 6.5, "r_after": 6.0,
    "ranks_before": "[6, 7]", "ranks_after": "[6, 6]", "nrg": 0.055556, "success@0.1": 0, "promote@0.1": 0, "kvr": 1,
}  # fmt: skip


def folder_of(tmp_path, *rows, name="per_instance_m_authoritative.csv"):
    pd.DataFrame(rows).to_csv(tmp_path / name, index=False)
    return tmp_path


def test_a_record_and_its_ranker(tmp_path):
    row = read_released(folder_of(tmp_path, ROW)).iloc[0]
    assert (row.variant, row.ranker, row.list, row.target) == ("authoritative", "m", "books", 1)
    assert (row.r_before, row.r_after, row.kvr) == (6.5, 6, 1)


def test_our_own_table_is_read(tmp_path):
    ours = {"variant": "tap__m", "ranker": "r", "dataset": "d", "list": "l", "target": 2, "L": 5, "r_before": 5, "r_after": 1, "nrg": 1.0}
    row = read_released(folder_of(tmp_path, ours, name="per_target.csv")).iloc[0]
    assert (row.variant, row.ranker, row.r_after) == ("tap__m", "r", 1)


@pytest.mark.parametrize(
    "change,said",
    [
        ({"method": "magic"}, "line 2: unknown variant 'magic'"),
        ({"r_before": None}, "stsdata/books, target 1: missing original: r_before"),
        ({"r_after": None}, "target 1: r_after: expected a number, got 'nan'"),
        ({"nrg": None}, "nrg: expected a number"),
        ({"kvr": None}, "kvr: expected a number"),
        ({"r_after": 12}, "r_after: expected ranks from 1 to 11"),
        ({"r_before": 0.5}, "r_before: .*from 1 to 11"),
        ({"ranks_after": "[6, 12]"}, "ranks_after: expected whole ranks from 1 to 11"),
        ({"ranks_before": "[]"}, "ranks_before: missing original"),
        ({"ranks_after": "[1, 6]"}, "ranks_after: median 3.5, but the record says 6"),
        ({"nrg": 0.5}, "nrg: ranks give 0.0555556, but the record says 0.5"),
        ({"success@0.1": 1}, "success@0.1: ranks give 0"),
        ({"target_idx": 11}, "target 11: expected a target from 1 to L"),
        ({"target_idx": 1.5}, "target 1.5: target: expected a whole number, got '1.5'"),
        ({"L": 10.5}, "L: expected a whole number"),
        ({"dataset": None}, "line 2: expected a dataset, got 'nan'"),
        ({"category": None}, "line 2: expected a list, got 'nan'"),
        ({"ranker": None}, "line 2: expected a ranker, got 'nan'"),
        ({"category": "bookz"}, "line 2: `stsdata` has no list `bookz`. Did you mean `books`"),
        ({"ranks_before": "[6.5]"}, "ranks_before: expected whole ranks"),
        ({"ranks_before": "[" * 5000}, "ranks_before: missing original"),
        ({"kvr": 1.01}, "kvr: expected a number from 0 to 1, got '1.01'"),
        ({"kvr": -0.01}, "kvr: expected a number from 0 to 1, got '-0.01'"),
        ({"kvr": 7}, "kvr: expected a number from 0 to 1, got '7'"),
    ],
)
def test_bad_records_are_refused_by_name(tmp_path, change, said):
    with pytest.raises(GeoBenchError, match=said):
        read_released(folder_of(tmp_path, ROW | change))


@pytest.mark.parametrize("kvr", [0, 1, 0.5])
def test_a_kvr_may_be_any_share_with_both_ends(tmp_path, kvr):
    assert read_released(folder_of(tmp_path, ROW | {"kvr": kvr})).kvr.tolist() == [kvr]


def test_a_target_that_comes_twice(tmp_path):
    with pytest.raises(GeoBenchError, match="authoritative, stsdata/books, target 1: this target comes twice"):
        read_released(folder_of(tmp_path, ROW, ROW))


def test_an_edited_text_without_its_original(tmp_path):
    folder_of(tmp_path, ROW)
    text = {"method": "tap__m", "dataset": "stsdata", "category": "books", "target_idx": 4, "orig_text": None, "adv_text": "x"}
    with pytest.raises(GeoBenchError, match="tap__m, stsdata/books, target 4: missing original"):
        read_released(folder_of(tmp_path, text, name="instances_tap.csv"))


def test_a_table_of_something_else(tmp_path):
    with pytest.raises(GeoBenchError, match="x.csv: expected per-target records with variant"):
        read_released(folder_of(tmp_path, {"a": 1}, name="x.csv"))


def test_the_same_records_in_two_files_of_no_ranker_are_one_target_twice(tmp_path):
    folder_of(tmp_path, ROW, name="x.csv")
    folder_of(tmp_path, ROW, name="y.csv")
    with pytest.raises(GeoBenchError, match="y.csv: .*comes twice"):
        read_released(tmp_path)
