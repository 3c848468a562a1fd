import json
import os
from pathlib import Path

import numpy as np
import pytest

from geobench.errors import GeoBenchError
from geobench.ladder_ranks import SAMPLE_FACTORS, TRACE_FACTORS, rank_ladders, read_raw, sample_table, selections, trace_table

MIRROR = Path(os.environ.get("GEOBENCH_DATA_MIRROR", Path(__file__).resolve().parents[2] / "shared" / "data"))
GRID = [[5, 7], [4, 2], [3, 6], [6, 8]]  # checkpoints x rows of the batch


def write(tmp_path):
    steps = [{"iteration": 100 * i, "rank": r, "suffix": "x"} for i, ranks in enumerate(GRID) for r in ranks]
    (tmp_path / "stealthrank_m_ragroll.jsonl").write_text(json.dumps({"list": "tent", "target": 1, "trace": steps}) + "\n")
    runs = [([5, 5, 5, 5], [1, 1, 6, 8]), ([5, 5, 3, 5], [4, 4, 2, 2])]
    (tmp_path / "sts_m_stsdata.jsonl").write_text("".join(
        json.dumps({"list": "books", "target": 1, "run": n, "suffix": "x", "ranks_before": b, "ranks_after": a}) + "\n"
        for n, (b, a) in enumerate(runs, 1)
    ))  # fmt: skip
    return tmp_path


@pytest.mark.parametrize(
    "selection,after,before,gain",
    [
        ("best of all", "one", "one", (5 - 2) / 7), ("last", "one", "one", (5 - 6) / 7), ("held out", "one", "one", (5 - 6) / 7),
        ("best of all", "one", "median", (6 - 2) / 7), ("best of all", "median of neighbours", "one", (5 - 6.5) / 7),
        ("held out", "median of neighbours", "one", (5 - 5) / 7),
    ],
)  # fmt: skip
def test_trace_settings_by_hand(tmp_path, selection, after, before, gain):
    rows = read_raw(write(tmp_path), "trace")["stealthrank__m, ragroll"]
    table = trace_table(rows, {"selection": selection, "ranks_after": after, "ranks_before": before})
    assert table.nrg.tolist() == pytest.approx([gain])


@pytest.mark.parametrize(
    "selection,orders,gain",
    [
        ("on the same ranks", "one", (3 - 2) / 9), ("on other ranks", "one", (5 - 6) / 9),
        ("on the same ranks", "median", (4 - 2) / 9), ("on other ranks", "median", (5 - 7) / 9), ("none", "median", (-2 + 2) / 18),
    ],
)  # fmt: skip
def test_sample_settings_by_hand(tmp_path, selection, orders, gain):
    rows = read_raw(write(tmp_path), "ranks_before")["sts__m, stsdata"]
    assert sample_table(rows, {"selection": selection, "orders": orders}).nrg.tolist() == pytest.approx([gain])


def test_what_judges_was_not_searched():
    """The least rank of all, 1, stands at a checkpoint that judges: the choice, 2 of every second, does not know it."""
    steps = [{"iteration": i, "rank": rank, "suffix": "x"} for i, rank in enumerate([8, 4, 2, 1, 6, 7])]
    row = {"dataset": "ragroll", "list": "tent", "target": 1, "L": 8, "trace": steps}
    config = {"selection": "held out", "ranks_after": "one", "ranks_before": "one"}
    assert trace_table([row], config).nrg.tolist() == [1.0]
    assert trace_table([row], config | {"ranks_after": "median of neighbours"}).nrg.tolist() == [(8 - 4) / 7]  # ranks 1, 4 and 7


def test_held_out_ranks_of_pure_noise_gain_nothing():
    """Ranks without any effect: judged by searched neighbours they would seem worse than the start, by others they do not."""
    random = np.random.default_rng(0)
    rows = [{"dataset": "d", "list": "l", "target": n, "L": 8, "trace": [
        {"iteration": i, "rank": int(rank), "suffix": "x"} for i, rank in enumerate(random.integers(1, 9, 6))
    ]} for n in range(4000)]  # fmt: skip
    for after in TRACE_FACTORS["ranks_after"]:
        gain = trace_table(rows, {"selection": "held out", "ranks_after": after, "ranks_before": "one"}).nrg
        assert abs(gain.mean()) < 3 * gain.std() / 4000**0.5


def test_all_files_of_a_folder(tmp_path):
    steps = rank_ladders(write(tmp_path), resamples=20)
    rungs = [2 * (1 + sum(len(settings) - 1 for settings in f.values())) + 1 + len(f) for f in (TRACE_FACTORS, SAMPLE_FACTORS)]
    assert steps.groupby("texts").size().to_dict() == {"stealthrank__m, ragroll": rungs[0], "sts__m, stsdata": rungs[1]}
    assert selections(tmp_path)["selection"].tolist() == ["best of all", "last", "held out"]


def test_records_with_a_single_rank_are_left_out_and_counted(tmp_path):
    write(tmp_path)
    file = tmp_path / "sts_m_stsdata.jsonl"
    single = {"list": "books", "target": 2, "suffix": "x", "ranks_before": [3], "ranks_after": [1, 2]}
    file.write_text(file.read_text() + json.dumps(single) + "\n")
    with pytest.warns(UserWarning, match="sts_m_stsdata.jsonl: 1 records with a single rank cannot be halved"):
        rows = read_raw(tmp_path, "ranks_before")["sts__m, stsdata"]
    assert [row["target"] for row in rows] == [1, 1]
    file.write_text(json.dumps(single) + "\n")
    with pytest.warns(UserWarning, match="1 records"):
        assert set(rank_ladders(tmp_path, resamples=20)["texts"]) == {"stealthrank__m, ragroll"}


def test_traces_of_one_checkpoint_are_left_out_and_counted(tmp_path):
    write(tmp_path)
    file = tmp_path / "stealthrank_m_ragroll.jsonl"
    single = {"list": "tent", "target": 2, "trace": [{"iteration": 0, "rank": 3, "suffix": "x"}] * 2}
    file.write_text(file.read_text() + json.dumps(single) + "\n")
    with pytest.warns(UserWarning, match="stealthrank_m_ragroll.jsonl: 1 records with a single checkpoint cannot be halved"):
        assert [row["target"] for row in read_raw(tmp_path, "trace")["stealthrank__m, ragroll"]] == [1]


@pytest.mark.parametrize("trace", ["abc", [], [{"iteration": 0, "rank": 2.5, "suffix": "x"}]])
def test_a_bad_trace_is_refused_as_the_reader_refuses_it(tmp_path, trace):
    (tmp_path / "stealthrank_m_ragroll.jsonl").write_text(json.dumps({"list": "tent", "target": 1, "trace": trace}) + "\n")
    with pytest.raises(GeoBenchError, match="stealthrank__m, ragroll/tent, target 1: "):
        rank_ladders(tmp_path, resamples=20)


@pytest.mark.skipif(not (MIRROR / "released").is_dir(), reason="released traces absent: set GEOBENCH_DATA_MIRROR")
def test_selection_explains_most_of_the_published_gain():
    gain = selections(MIRROR / "released").set_index("selection")["nrg"]
    assert gain.round(3).to_dict() == {"best of all": 0.428, "last": 0.067, "held out": 0.148}
