import pandas as pd

from geobench.findings import numbers, sentences, table
from geobench.tables import write_table

MAIN = pd.DataFrame({
    "variant": ["tap__m", "fluency__a", "fluency__b", "injection"], "threat": ["black-box", "white-hat", "white-hat", "control"],
    "nrg": [0.3, 0.2, -0.1, 0.6], "nrg_lo": [0.1, -0.1, -0.2, float("nan")], "nrg_hi": [0.5, 0.4, 0.1, float("nan")],
    "judge_auroc": [0.9, 0.5, 0.4, 0.7], "judge_auroc_lo": [0.8, 0.4, 0.3, 0.6], "judge_auroc_hi": [1.0, 0.6, 0.5, 0.8],
    "n_targets": 12, "n_lists": 4, "n_datasets": 2, "note": "",
})  # fmt: skip


def test_numbers_are_those_of_the_tables(tmp_path):
    write_table(MAIN, tmp_path / "tables", "table_02_main", "")
    found = numbers(tmp_path)
    assert found["main.tap.nrg"] == 0.3 and found["main.fluency__b.nrg"] == -0.1 and found["main.above_zero"] == 1
    assert found["main.fluency.nrg"] == 0.2  # of two models, the one that comes first
    assert found["best.white-hat.variant"] == "fluency__a" and found["run.lists"] == 4
    assert "main.injection.nrg_lo" not in found  # nan: left out


def test_sentences_carry_intervals(tmp_path):
    write_table(MAIN, tmp_path / "tables", "table_02_main", "")
    lines = sentences(tmp_path)
    assert lines[0].startswith("Edits of 12 targets in 4 lists of 2 data sets, 4 variants")
    tap = "tap__m, NRG 0.30 [0.10, 0.50]; the judge tells it from originals with AUROC 0.90 [0.80, 1.00]."
    assert f"Strongest black-box variant: {tap}" in lines
    assert any("injection, NRG 0.60; " in line for line in lines)  # no interval


def test_search_victims_are_named(tmp_path):
    asr = {"asr": [0.1, 0.8], "asr_lo": [0.0, 0.7], "asr_hi": [0.2, 0.9]}
    main = pd.DataFrame({"victim": "m:generate", "condition": ["clean", "id"], **asr})
    write_table(main, tmp_path / "tables", "search_main", "")
    assert numbers(tmp_path)["search.id.generate.asr"] == 0.8
    assert sentences(tmp_path) == [
        "Search track, generate victim: false claim in the answer 0.80 [0.70, 0.90] when one of five sources is distorted, "
        "0.10 [0.00, 0.20] when none is."
    ]


def test_an_empty_run_has_no_findings(tmp_path):
    assert sentences(tmp_path) == [] and table(tmp_path, "table_02_main") is None and set(numbers(tmp_path)) == {"run.name"}


def test_released_records_have_their_sentences(tmp_path):
    rows = {"variant": "sts__x", "dataset": ["a", "b"], "value": "nrg", "mean": [0.5, 0.25], "lo": [0.1, None], "hi": [0.9, None]}
    write_table(pd.DataFrame(rows), tmp_path / "tables", "released_intervals", "")
    assert sentences(tmp_path) == ["Released records of sts__x, a: NRG 0.50 [0.10, 0.90].", "Released records of sts__x, b: NRG 0.25."]


def test_calibration_on_other_data_sets_alone_says_how_far_it_travels(tmp_path):
    rows = {"detector": "judge", "calibration": ["pooled", "leave one data set out"], "realised": [0.05, 0.25]}
    write_table(pd.DataFrame(rows), tmp_path / "tables", "table_07_calibration", "")
    assert numbers(tmp_path)["calibration.least"] == numbers(tmp_path)["calibration.most"] == 0.25


def test_the_defence_that_helps_most_over_victims(tmp_path):
    change = {"change": [-0.1, -0.5, -0.4, -0.3]}  # guard: -0.3 on average, tfidf: -0.35
    rows = {"defence": ["guard:drop", "guard:drop", "tfidf:drop", "tfidf:drop"], "victim": ["a", "b", "a", "b"], **change}
    write_table(pd.DataFrame(rows), tmp_path / "tables", "defence_effect", "")
    found = numbers(tmp_path)
    assert (found["defence.best"], found["defence.best.least"], found["defence.best.most"]) == ("tfidf:drop", -0.3, -0.4)
    said = "The defence that helps most on average, tfidf:drop, changes that score by -0.30 to -0.40 over 2 victims."
    assert sentences(tmp_path) == [said]


def test_steps_and_counts_stay_whole_numbers(tmp_path):
    write_table(pd.DataFrame({"step": [0, 1], "median words": [46.0, 47.0], "rate": [0, 1]}), tmp_path / "tables", "t", "")
    assert [str(kind) for kind in table(tmp_path, "t").dtypes] == ["int64", "int64", "float64"]
