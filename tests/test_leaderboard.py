import pandas as pd
import pytest

from geobench import paths
from geobench.__main__ import main
from geobench.errors import GeoBenchError
from geobench.leaderboard import leaderboard, places
from geobench.run import sha


def test_runs_are_merged_and_ranked_per_threat_model(study, tmp_path):
    ours = study.submission(tmp_path / "ours", {"injection": [1, 1, 1, 1], "tap__m": [3, 3, 3, 1]})
    theirs = study.submission(tmp_path / "theirs", {"injection": [1, 1, 1, 1], "external__new": [5, 5, 5, 5], "zero_shot__m": [5, 5, 5, 5]})
    page = leaderboard([ours, theirs], tmp_path / "out")
    black = pd.read_csv(tmp_path / "out" / "black-box.csv")
    assert list(black["variant"]) == ["tap__m", "zero_shot__m"] and list(black["place"]) == [1, 2]
    assert list(black["nrg"]) == [0.625, 0.0] and list(black["run"]) == ["ours", "theirs"]
    assert black["nrg_lo"][0] == pytest.approx(0.625 - 3.182446 * 0.125, abs=1e-6)  # t with 3 degrees of freedom
    assert black["nrg_hi"][0] == 1  # cut
    every = pd.read_csv(tmp_path / "out" / "leaderboard.csv")
    assert list(every["threat"]) == ["black-box", "black-box", "control", "external"]  # the shared injection comes once
    assert "zero_shot__m" in page.read_text()


def test_a_variant_with_other_ranks_is_told_apart(study, tmp_path):
    runs = [study.submission(tmp_path / "a", {"injection": [1, 1, 1, 1]}), study.submission(tmp_path / "b", {"injection": [2, 2, 2, 2]})]
    leaderboard(runs, tmp_path / "out")
    assert list(pd.read_csv(tmp_path / "out" / "control.csv")["variant"]) == ["injection @a", "injection @b"]


def test_equal_means_share_a_place(study, tmp_path):
    leaderboard([study.submission(tmp_path / "a", {"injection": [1, 1, 1, 1], "padding": [1, 1, 1, 1]})], tmp_path / "out")
    control = pd.read_csv(tmp_path / "out" / "control.csv")
    assert list(control["place"]) == [1, 1] and list(control["places"]) == ["1 to 2", "1 to 2"]


def test_text_from_submissions_is_escaped(study, tmp_path):
    run = study.submission(tmp_path / "<b>", {"external__<i>": [1, 1, 1, 1]})
    page = leaderboard([run], tmp_path / "out").read_text()
    assert "<i>" not in page and "external__&lt;i&gt;" in page and "&lt;b&gt;" in page


def test_places_are_a_range_where_lists_disagree():
    rows = [{"dataset": "d", "list": f"l{n}", "target": 1, "variant": v, "nrg": g}
            for v, gains in {"a": [1, 0] * 4, "b": [0, 1] * 4, "c": [-1] * 8}.items() for n, g in enumerate(gains)]  # fmt: skip
    assert places(pd.DataFrame(rows)) == {"a": "1 to 2", "b": "1 to 2", "c": "3"}
    few = [row for row in rows if row["list"] < "l4"]  # no adjusted p below 1/8 from four lists
    assert places(pd.DataFrame(few)) == dict.fromkeys("abc", "1 to 3")


def test_the_same_ranks_of_other_texts_are_not_the_same_variant(study, tmp_path):
    runs = [study.submission(tmp_path / name, {"injection": [1, 1, 1, 1], "padding": [5, 5, 5, 5]}) for name in "ab"]
    for name in (f"{part}/injection.jsonl" for part in ("edits", "ranks/bm25")):
        text = (tmp_path / "b" / name).read_text().replace('"text": "injection"', '"text": "x"').replace(sha("injection"), sha("x"))
        (tmp_path / "b" / name).write_text(text)
    leaderboard(runs, tmp_path / "out")
    made = pd.read_csv(tmp_path / "out" / "control.csv")
    assert list(zip(made["variant"], made["run"], made["places"])) == [
        ("injection @a", "a", "1 to 3"), ("injection @b", "b", "1 to 3"), ("padding", "a", "1 to 3")]  # fmt: skip


def test_each_run_has_its_own_judges_auroc_and_another_judges_counts_as_none(study, tmp_path):
    def judged(edit):
        return {"original": 0.0, "injection": edit}

    runs = [
        study.submission(tmp_path / "none", {"injection": [4, 4, 4, 4]}),
        study.submission(tmp_path / "high", {"injection": [1, 1, 1, 1]}, judged=judged(1.0)),
        study.submission(tmp_path / "low", {"injection": [2, 2, 2, 2]}, judged=judged(-1.0)),
        study.submission(tmp_path / "other", {"injection": [3, 3, 3, 3]}, judged=judged(1.0), judge="k"),
    ]
    leaderboard(runs, tmp_path / "out")
    made = pd.read_csv(tmp_path / "out" / "control.csv")
    assert list(made["run"]) == ["high", "low", "other", "none"]
    assert list(made["judge_auroc"][:2]) == [1.0, 0.0] and made["judge_auroc"][2:].isna().all()
    assert list(made["nrg"]) == [1.0, 0.75, 0.5, 0.25] and list(made["success@0.1"]) == list(made["promote@0.1"]) == [1, 0, 0, 0]
    assert list(made["n_targets"]) == [4, 4, 4, 4] and "success@0.1_lo" not in made


def test_an_edit_whose_original_no_judge_has_scored_is_named(study, tmp_path):
    run = study.submission(tmp_path / "a", {"injection": [1, 1, 1, 1]}, judged={"injection": 1.0})
    with pytest.raises(GeoBenchError, match="a: scores/judge.jsonl: d/l0, target 5, variant injection: the edit or its original has no"):
        leaderboard([run], tmp_path / "out")


def test_variants_without_a_common_target_are_not_told_apart(study, tmp_path):
    lists = study.five_items()
    run = study.submission(tmp_path / "a", {"injection": [1, 1, 1, 1], "padding": [5, 5, 5, 5]}, chosen=lists)
    for variant, kept in (("injection", slice(0, 2)), ("padding", slice(2, 4))):
        for file in (tmp_path / "a" / "edits" / f"{variant}.jsonl", tmp_path / "a" / "ranks" / "bm25" / f"{variant}.jsonl"):
            head, *rows = file.read_text().splitlines()
            file.write_text("\n".join([head, *rows[kept]]) + "\n")
    leaderboard([run], tmp_path / "out")
    made = pd.read_csv(tmp_path / "out" / "control.csv")
    assert list(made["places"]) == ["1 to 2", "1 to 2"] and list(made["n_lists"]) == [2, 2] and list(made["nrg"]) == [1.0, 0.0]


def test_it_goes_where_results_go(study, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "elsewhere")
    study.submission(tmp_path / "elsewhere" / "mine", {"injection": [1, 1, 1, 1]})
    assert main(["leaderboard", "mine"]) == 0
    page = (tmp_path / "elsewhere" / "leaderboard" / "index.html").read_text()
    assert "bm25" in page and "&#34;seed&#34;: 0" in page and "Runs: mine." in page


def test_equal_gains_in_other_sums_are_not_told_apart():
    thirds = [0.1 + 0.2, 0.3, 0.3, 0.3]  # 0.30000000000000004
    rows = [{"dataset": "d", "list": f"l{n}", "target": 1, "variant": v, "nrg": g}
            for v, gains in {"a": thirds, "b": [0.3] * 4}.items() for n, g in enumerate(gains)]  # fmt: skip
    assert places(pd.DataFrame(rows)) == {"a": "1 to 2", "b": "1 to 2"}


def test_close_means_do_not_share_a_place(study, tmp_path):
    leaderboard([study.submission(tmp_path / "a", {"injection": [1, 1, 1, 2], "padding": [1, 1, 2, 2]})], tmp_path / "out")
    control = pd.read_csv(tmp_path / "out" / "control.csv")
    assert list(control["nrg"]) == [0.9375, 0.875] and list(control["place"]) == [1, 2]


def test_the_same_ranks_after_other_clean_ranks_are_not_the_same_variant(study, tmp_path):
    runs = [study.submission(tmp_path / name, {"injection": [1, 1, 1, 1]}) for name in "ab"]
    clean = tmp_path / "b" / "ranks" / "bm25" / "clean.jsonl"
    clean.write_text(clean.read_text().replace("[[1, 2, 3, 4, 5]]", "[[5, 4, 3, 2, 1]]"))
    leaderboard(runs, tmp_path / "out")
    made = pd.read_csv(tmp_path / "out" / "control.csv")
    assert list(zip(made["variant"], made["nrg"])) == [("injection @a", 1.0), ("injection @b", 0.0)]


def test_scores_of_older_texts_are_no_auroc(study, tmp_path):
    run = study.submission(tmp_path / "a", {"injection": [1, 1, 1, 1]}, judged={"original": 0.0, "injection": 1.0})
    file = tmp_path / "a" / "scores" / "judge.jsonl"
    file.write_text(file.read_text().replace('"text_sha": "', '"text_sha": "0'))
    leaderboard([run], tmp_path / "out")
    assert pd.read_csv(tmp_path / "out" / "control.csv")["judge_auroc"].isna().all()
