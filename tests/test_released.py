"""Traces by hand, the published row, and what is refused by name."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geobench import paths
from geobench.errors import GeoBenchError
from geobench.released import read_released, released_folder
from geobench.released_tables import gaps, per_target, released_table

MIRROR = Path(os.environ.get("GEOBENCH_DATA_MIRROR", Path(__file__).resolve().parents[2] / "shared" / "data"))
SAMPLES = paths.ROOT / "data" / "embedded" / "released"


def steps(*rows):
    return [{"iteration": i, "rank": r, "suffix": s} for i, r, s in rows]


TRACE = {"list": "tent", "target": 2, "trace": steps((0, 4, "a"), (0, 1, "plain words"), (99, 1, "the best tent"))}
STS = {"list": "books", "model": "llama", "target": 1, "run": 1, "suffix": "x", "ranks_before": [3, 11, 5], "ranks_after": [1, 2, 1]}


def folder_of(tmp_path, rows, name="stealthrank_m_ragroll.jsonl"):
    (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_a_trace_by_hand(tmp_path):
    row = read_released(folder_of(tmp_path, [TRACE])).iloc[0]
    assert (row.variant, row.dataset, row.ranker, row.L) == ("stealthrank__m", "ragroll", "m", 8)
    assert (row.r_before, row.r_after, row.suffix, row.kvr) == (4, 1, "plain words", 0)  # the earliest of the best
    table = released_table(per_target(read_released(tmp_path)))
    assert table.columns.tolist() == ["variant", "dataset", "n", "nrg", "success@0.1", "promote@0.1", "kvr"]
    assert table.iloc[0].tolist() == ["stealthrank__m", "ragroll", 1, pytest.approx(3 / 7), 1, 1, 0]


def test_keywords_keep_word_boundaries(tmp_path):
    rows = [TRACE | {"trace": steps((0, 1, "the best tent"))}, TRACE | {"target": 3, "trace": steps((0, 1, "bestow a tent"))}]
    assert read_released(folder_of(tmp_path, rows)).kvr.tolist() == [1, 0]


def test_raf_has_no_rank_before(tmp_path):
    rows = [{"model": "m", "dataset": "stsdata", "list": "books", "target": 1, "trace": steps((79, 3, "x"))}]
    targets = per_target(read_released(folder_of(tmp_path, rows, "raf_stsdata.jsonl")))
    assert np.isnan(targets.nrg[0]) and np.isnan(targets["promote@0.1"][0]) and targets["success@0.1"][0] == 0
    assert gaps(targets) == ["raf__m, stsdata: 1 targets have no rank before, so no NRG and no promotion"]


def test_runs_of_one_target_are_averaged(tmp_path):
    second = STS | {"run": 2, "ranks_after": [5, 5, 5]}
    targets = per_target(read_released(folder_of(tmp_path, [STS, second], "sts_stsdata.jsonl")))
    assert len(targets) == 1 and targets.runs[0] == 2
    assert targets.nrg[0] == pytest.approx((4 / 9 + 0) / 2) and targets["success@0.1"][0] == 0.5


@pytest.mark.parametrize("name", ["traces.jsonl", "stealthrank.jsonl"])
def test_a_file_name_that_says_nothing_is_read_by_its_format(tmp_path, name):
    row = read_released(folder_of(tmp_path, [TRACE], name)).iloc[0]
    assert (row.variant, row.dataset) == ("stealthrank", "ragroll")  # only Ragroll has a list of tents


@pytest.mark.parametrize(
    "rows,name,said",
    [
        ([TRACE], "stealthbank_m_ragroll.jsonl", "line 1: unknown variant 'stealthbank__m'. Did you mean `stealthrank`?"),
        ([TRACE | {"trace": steps((0, 4, "a"), ("x", 2, "b"))}], "traces.jsonl", "target 2: trace: expected whole numbers .*got 'x'"),
        ([TRACE | {"method": "magic"}], "stealthrank_m_ragroll.jsonl", "line 1: unknown variant 'magic"),
        ([TRACE, TRACE], "stealthrank_m_ragroll.jsonl", "stealthrank__m, ragroll/tent, target 2: this target comes twice"),
        ([TRACE | {"trace": steps((99, 1, "a"))}], "stealthrank_m_ragroll.jsonl", "ragroll/tent, target 2: missing original"),
        ([TRACE | {"trace": steps((0, float("nan"), "a"))}], "stealthrank_m_ragroll.jsonl", "target 2: trace: .*from 1 to 9 .*got 'nan'"),
        ([TRACE | {"trace": steps((0, 10, "a"))}], "stealthrank_m_ragroll.jsonl", "target 2: trace: .*from 1 to 9 .*got '10'"),
        ([TRACE | {"trace": steps((0, 0, "a"))}], "stealthrank_m_ragroll.jsonl", "got '0'"),
        ([TRACE | {"trace": []}], "stealthrank_m_ragroll.jsonl", "target 2: expected a trace"),
        ([TRACE | {"trace": steps((0, 1, None))}], "stealthrank_m_ragroll.jsonl", "target 2: expected the suffix as text"),
        ([TRACE | {"target": 9}], "stealthrank_m_ragroll.jsonl", "target 9: expected a target from 1 to 8"),
        ([STS | {"ranks_before": []}], "sts_stsdata.jsonl", "books, target 1: ranks_before: missing original"),
        ([STS | {"ranks_before": None}], "sts_stsdata.jsonl", "missing original"),
        ([STS | {"ranks_after": [1, 12]}], "sts_stsdata.jsonl", "ranks_after: .*from 1 to 11 .*got '12'"),
        ([STS, STS], "sts_stsdata.jsonl", "comes twice"),
        ([{"list": "tent", "target": 1}], "stealthrank_m_ragroll.jsonl", "line 1: expected a `trace`"),
        ([], "stealthrank_m_ragroll.jsonl", "holds no records"),
        ([TRACE | {"trace": steps((0, 2.5, "a"))}], "traces.jsonl", "target 2: trace: expected whole ranks from 1 to 9 .*got '2.5'"),
        ([STS | {"ranks_after": [1, 1.5]}], "sts_stsdata.jsonl", "ranks_after: expected whole ranks .*got '1.5'"),
        ([TRACE | {"trace": steps((0, 10**400, "a"))}], "traces.jsonl", "target 2: trace: expected whole ranks"),
        ([TRACE | {"trace": steps((True, 4, "a"))}], "traces.jsonl", "target 2: trace: expected whole numbers .*got 'True'"),
        ([TRACE | {"trace": "abc"}], "traces.jsonl", "target 2: expected a trace of iteration, rank and suffix, got 'abc'"),
        ([TRACE | {"target": True}], "traces.jsonl", "traces.jsonl line 1: target: expected a whole number, got 'True'"),
        ([TRACE, TRACE | {"run": [1]}], "traces.jsonl", r"traces.jsonl line 2: run: expected a whole number, got '\[1\]'"),
        ([TRACE | {"L": 10**400}], "traces.jsonl", "line 1: unknown length"),
        ([TRACE | {"model": 5}], "traces.jsonl", "line 1: model: expected a text, got '5'"),
        ([TRACE | {"dataset": ["x"]}], "traces.jsonl", "line 1: dataset: expected a text"),
        ([TRACE | {"list": "tents"}], "stealthrank_m_ragroll.jsonl", "line 1: `ragroll` has no list `tents`. Did you mean `tent`?"),
        ([TRACE | {"trace": steps((0, 4, "\ud800"))}], "traces.jsonl", "traces.jsonl:1: expected a JSON object.*hex escape"),
        ([TRACE | {"list": "no such list"}], "traces.jsonl", "line 1: expected a list and its data set"),
    ],
)
def test_bad_records_are_refused_by_name(tmp_path, rows, name, said):
    with pytest.raises(GeoBenchError, match=said):
        read_released(folder_of(tmp_path, rows, name))


def test_a_row_that_names_its_variant_needs_no_method_in_the_name_of_its_file(tmp_path):
    rows = read_released(folder_of(tmp_path, [TRACE | {"variant": "stealthrank__own"}], "mine_ragroll.jsonl"))
    assert rows["variant"].tolist() == ["stealthrank__own"]


@pytest.mark.parametrize("name", ["raf_stsdata.jsonl.gz", "records.parquet", "traces.json"])
def test_a_file_that_would_be_passed_over_is_refused(tmp_path, name):
    folder = folder_of(tmp_path, [TRACE], "traces.jsonl")
    (folder / name).write_bytes(b"x")
    (folder / "README.md").write_text("no records, and no harm")
    with pytest.raises(GeoBenchError, match=f"{name}: expected .jsonl or .csv files"):
        read_released(folder)


def test_folders(tmp_path, monkeypatch):
    with pytest.raises(GeoBenchError, match="no records"):
        read_released(tmp_path)
    with pytest.raises(GeoBenchError, match="released_dir: expected a folder"):
        released_folder(str(tmp_path / "none"))
    monkeypatch.delenv("GEOBENCH_DATA_MIRROR", raising=False)
    assert released_folder() == SAMPLES and released_folder(str(tmp_path)) == tmp_path
    (tmp_path / "released").mkdir()
    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", str(tmp_path))
    assert released_folder() == tmp_path / "released"


def test_embedded_samples_show_every_format():
    table = released_table(per_target(read_released(SAMPLES))).set_index(["variant", "dataset"])
    assert table.loc["stealthrank__sample", "kitchen"].tolist() == pytest.approx([4, 14 / 24, 0.5, 0.25, 0.5])
    assert np.isnan(table.loc["raf__sample", "outdoor"]["nrg"]) and table.loc["sts__sample", "services"]["n"] == 2
    assert table.loc["authoritative", "services"].tolist() == [1, 0, 0, 0, 1]


@pytest.mark.skipif(not (MIRROR / "released").is_dir(), reason="released traces absent: set GEOBENCH_DATA_MIRROR")
def test_the_first_papers_row_comes_out():
    table = released_table(per_target(read_released(MIRROR / "released"))).set_index(["variant", "dataset"])
    row = table.loc["stealthrank__llama-3.1-8b", "ragroll"]
    assert row.round(3).tolist() == [399, 0.428, 0.935, 0.714, 0.596]


@pytest.mark.skipif(not (MIRROR / "reference" / "samples").is_dir(), reason="per-target samples absent: set GEOBENCH_DATA_MIRROR")
def test_derived_columns_of_public_records_come_out():
    folder = MIRROR / "reference" / "samples"
    stored = pd.read_csv(folder / "per_instance_llama-3.1-8b_authoritative.csv")
    ours = per_target(read_released(folder)).set_index(["dataset", "list", "target"])
    assert set(ours.ranker) == {"llama-3.1-8b"} and len(ours) == len(stored) == 70
    for row in stored.to_dict("records"):
        mine = ours.loc[row["dataset"], row["category"], row["target_idx"]]
        for column in ("nrg", "success@0.1", "promote@0.1", "kvr"):
            assert mine[column] == pytest.approx(row[column], abs=1e-6)
