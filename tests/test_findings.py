import pandas as pd
import pytest

from geobench.errors import GeoBenchError
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
    write_table(pd.DataFrame(), tmp_path / "tables", "table_02_main", "")
    assert sentences(tmp_path) == [] and table(tmp_path, "table_02_main") is None and set(numbers(tmp_path)) == {"run.name"}


def test_released_records_have_their_sentences(tmp_path):
    rows = {"variant": "sts__x", "dataset": ["a", "b"], "value": "nrg", "mean": [0.5, 0.25], "lo": [0.1, None], "hi": [0.9, None]}
    write_table(pd.DataFrame(rows), tmp_path / "tables", "released_intervals", "")
    assert sentences(tmp_path) == ["Released records of sts__x, a: NRG 0.50 [0.10, 0.90].", "Released records of sts__x, b: NRG 0.25."]


def test_calibration_on_other_data_sets_alone_says_how_far_it_travels(tmp_path):
    rows = {"detector": "judge", "calibration": ["pooled", "leave one data set out"], "realised": [0.05, 0.25]}
    write_table(pd.DataFrame(rows), tmp_path / "tables", "table_07_calibration", "")
    assert numbers(tmp_path)["calibration.least"] == numbers(tmp_path)["calibration.most"] == 0.25
    rows = {"detector": "judge", "calibration": "leave one data set out", "realised": [0.05, 0.25, None]}
    write_table(pd.DataFrame(rows), tmp_path / "tables", "table_07_calibration", "")
    assert (numbers(tmp_path)["calibration.least"], numbers(tmp_path)["calibration.most"]) == (0.05, 0.25)


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


def test_pairs_differ_below_five_percent_and_gains_lie_above_zero(tmp_path):
    write_table(MAIN.assign(nrg_lo=[0.001, 0.0, -0.2, None], n_targets=[9, 12, 12, 3]), tmp_path / "tables", "table_02_main", "")
    write_table(pd.DataFrame({"p_adjusted": [0.049, 0.05, 0.2, None]}), tmp_path / "tables", "table_17_all_contrasts", "")
    found = numbers(tmp_path)
    assert (found["contrasts.n"], found["contrasts.differ"], found["main.above_zero"], found["run.targets"]) == (4, 1, 1, 12)
    assert "1 of 4 pairs of variants differ at the 5 % level, adjusted over all pairs." in sentences(tmp_path)


def test_of_equal_gains_the_last_name_stands_for_its_threat(tmp_path):
    write_table(MAIN.assign(nrg=[0.3, 0.2, 0.2, 0.6], note="few lists"), tmp_path / "tables", "table_02_main", "")
    found = numbers(tmp_path)
    assert found["best.white-hat.variant"] == "fluency__b" and found["best.white-hat.judge_auroc"] == 0.4
    assert not [key for key in found if key.endswith(".note")]


def test_the_highest_auroc_is_named_with_its_detector_and_variant(tmp_path):
    rows = {"detector": ["keyword", "judge"], "variant": ["tap__m", "injection"], "auroc": [0.75, 0.875]}
    write_table(pd.DataFrame(rows), tmp_path / "tables", "table_18_auroc", "")
    assert sentences(tmp_path) == ["Highest mean AUROC of a detector: 0.88 (judge on injection)."]


def test_raters_agreement_is_the_first_row_and_published_figures_are_counted(tmp_path):
    kappa = {"raters": ["all", "two"], "statistic": "fleiss", "kappa": [0.5, 0.25], "lo": [0.25, 0.0], "hi": [0.75, 0.5], "n": [24, 12]}
    write_table(pd.DataFrame(kappa), tmp_path / "tables", "search_agreement", "")
    write_table(pd.DataFrame({"comparable": ["yes", "no: other data (x)", "yes"]}), tmp_path / "tables", "compare", "")
    found = numbers(tmp_path)
    assert [found[f"agreement.{k}"] for k in ("kappa", "lo", "hi", "n")] == [0.5, 0.25, 0.75, 24]
    assert (found["published.n"], found["published.comparable"]) == (3, 2)


def test_parameters_that_the_text_quotes(tmp_path):
    (tmp_path / "params.yaml").write_text("orders: 3\nresamples: 50\nmain_ranker: bm25\nfalse_positive_rate: 0.1\nseed: 7\n")
    quoted = {"run.orders": 3, "run.resamples": 50, "run.main_ranker": "bm25", "run.false_positive_rate": 0.1}
    assert numbers(tmp_path) == {"run.name": tmp_path.name} | quoted
    (tmp_path / "params.yaml").write_text("inference: published\n")
    assert numbers(tmp_path)["run.intervals"] == "95 % intervals: percentiles over resampled lists, as published."
    assert numbers(tmp_path)["run.tests"] == "p: Wald tests, adjusted over all pairs by Holm."


def test_a_table_that_lacks_a_column_is_told_of(tmp_path):
    write_table(MAIN.drop(columns=["threat", "nrg"]), tmp_path / "tables", "table_02_main", "")
    with pytest.raises(GeoBenchError, match="tables: one lacks '.*'; delete it and run its notebook again"):
        numbers(tmp_path)
