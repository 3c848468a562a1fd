import json
from pathlib import Path

import pytest

from geobench.catalog import write_catalog
from geobench.errors import GeoBenchError
from geobench.leaderboard import leaderboard
from geobench.submissions import find, labels, read_all


def test_another_protocol_is_refused_and_named(study, tmp_path):
    first = study.submission(tmp_path / "a", {"injection": [1, 1, 1, 1]})
    runs = [first, study.submission(tmp_path / "b", {"injection": [1, 1, 1, 1]}, seed=7)]
    with pytest.raises(GeoBenchError, match=r"`a` and `b` .* different protocols \(seed: 0 -> 7\)"):
        leaderboard(runs, tmp_path / "out")


def test_other_lists_are_refused(study, tmp_path):
    first = study.submission(tmp_path / "a", {"injection": [1, 1, 1, 1]})
    runs = [first, study.submission(tmp_path / "b", {"injection": [1, 1, 1]}, chosen=study.five_items(3))]
    with pytest.raises(GeoBenchError, match="different protocols .*catalog"):
        leaderboard(runs, tmp_path / "out")


def test_a_catalog_that_was_not_ranked_is_refused(study, tmp_path):
    run = study.submission(tmp_path / "a", {"injection": [1, 1, 1, 1]})
    write_catalog(tmp_path / "a" / "catalog.jsonl", study.five_items(3))
    with pytest.raises(GeoBenchError, match="are not those ranked"):
        leaderboard([run], tmp_path / "out")


def test_unknown_run(tmp_path):
    with pytest.raises(GeoBenchError, match="no run `.*nothing` \\(a folder with catalog.jsonl\\)"):
        leaderboard([str(tmp_path / "nothing")], tmp_path / "out")


def test_a_released_run_says_why_it_cannot_enter(tmp_path):
    (tmp_path / "released_per_target.csv").write_text("variant\n")
    with pytest.raises(GeoBenchError, match="holds released records: .*no protocol that another run could share; .*released_intervals.csv"):
        find(str(tmp_path))


def test_two_folders_of_one_name_are_told_apart_by_their_parents(study, tmp_path, monkeypatch):
    runs = [study.submission(tmp_path / team / "run", {"injection": [place] * 4}) for team, place in (("a", 1), ("b", 2))]
    assert [e.name for e in read_all(runs)] == ["a/run", "b/run"]
    monkeypatch.chdir(tmp_path / "a" / "run")
    assert [e.name for e in read_all([".", runs[0], "../run"])] == ["run"]  # one folder, however it is called
    assert labels([Path("/m/a/x/r"), Path("/m/b/x/r"), Path("/m/n/o/s")]) == ["a/x/r", "b/x/r", "n/o/s"]


def test_all_are_read_under_the_first_runs_ranker(study, tmp_path):
    runs = [study.submission(tmp_path / name, {"injection": [1, 1, 1, 1]}) for name in "ab"]
    (tmp_path / "b" / "params.yaml").write_text("main_ranker: another\n")
    assert [e.ranker for e in read_all(runs)] == ["bm25", "bm25"]
    (tmp_path / "a" / "params.yaml").unlink()
    with pytest.raises(GeoBenchError, match="a: no params.yaml that names its main_ranker"):
        read_all(runs)
    assert [e.ranker for e in read_all(runs, "bm25")] == ["bm25", "bm25"]


def test_a_variant_under_another_protocol_than_its_clean_lists_is_refused(study, tmp_path):
    run = study.submission(tmp_path / "a", {"injection": [1, 1, 1, 1]})
    file = tmp_path / "a" / "ranks" / "bm25" / "injection.jsonl"
    file.write_text(file.read_text().replace('"seed": 0', '"seed": 9', 1))
    with pytest.raises(GeoBenchError, match=r"injection.jsonl: ranked under another protocol than its clean lists \(seed: 0 -> 9\)"):
        read_all([run])


def test_no_ranks_and_a_name_that_looks_like_a_label_are_refused(study, tmp_path):
    run = study.submission(tmp_path / "a", {"external__x @b": [1, 1, 1, 1]})
    with pytest.raises(GeoBenchError, match="a: variant `external__x @b`: ` @` stands between"):
        read_all([run])
    (tmp_path / "a" / "ranks" / "bm25" / "external__x @b.jsonl").unlink()
    with pytest.raises(GeoBenchError, match="a: no variant was ranked by bm25"):
        read_all([run])


def test_a_rank_that_cannot_be_and_an_item_that_is_not_there_are_named_with_their_run(study, tmp_path):
    run = study.submission(tmp_path / "a", {"injection": [1, 1, 1, 9]})
    with pytest.raises(GeoBenchError, match=r"a/ranks/bm25: d/l3, target 5, variant injection: ranks: expected 1 from 1 to 6, got '\[9\]'"):
        read_all([run])
    file = tmp_path / "a" / "edits" / "injection.jsonl"
    file.write_text(file.read_text().replace('"target": 5', '"target": 6', 1))
    with pytest.raises(GeoBenchError, match="a/edits/injection.jsonl: d/l0/6: no such item among the run's lists"):
        read_all([run])


RANKS, EDITS = "ranks/bm25/injection.jsonl", "edits/injection.jsonl"
BAD = [
    (EDITS, "dataset", ["d"], "dataset: expected a text"),
    (EDITS, "text", 5, "text: expected a text, got '5'"),
    (EDITS, "text", "\ud800", "not a JSON record"), (EDITS, "target", "5", "target: expected a whole number, got '5'"),
    (RANKS, "target", "5", "target: expected a whole number, got '5'"), (RANKS, "ranks", 5, "ranks: Input should be a valid list"),
    (RANKS, "ranks", ["1"], "ranks.0: Input should be a valid number, got '1'"),
    (RANKS, "orders", [0], "orders.0: Input should be a valid list"),
    (RANKS, "list", {}, "list: expected a text"), (RANKS, "text_sha", None, "text_sha: Input should be a valid string"),
    ("ranks/bm25/clean.jsonl", "ranks", [1, 2, 3, 4, 5], "ranks.0: Input should be a valid list, got '1'"),
    ("scores/judge.jsonl", "score", "high", "score: Input should be a valid number, got 'high'"),
]  # fmt: skip


@pytest.mark.parametrize("name,field,value,said", BAD)
def test_a_bad_submitted_record_is_named_with_file_and_line(study, tmp_path, name, field, value, said):
    run = study.submission(tmp_path / "a", {"injection": [1, 1, 1, 1]}, judged={"original": 0.0, "injection": 1.0})
    file = tmp_path / "a" / name
    lines = file.read_text().splitlines()
    lines[2] = json.dumps(json.loads(lines[2]) | {field: value})
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(GeoBenchError, match=f"a/{name}:3: {said}"):
        read_all([run])


@pytest.mark.parametrize("name", [EDITS, RANKS, "ranks/bm25/clean.jsonl", "scores/judge.jsonl"])
def test_a_fingerprint_that_is_none_is_named(study, tmp_path, name):
    run = study.submission(tmp_path / "a", {"injection": [1, 1, 1, 1]}, judged={"original": 0.0, "injection": 1.0})
    file = tmp_path / "a" / name
    file.write_text('{"fingerprint": 3}\n' + file.read_text().partition("\n")[2])
    with pytest.raises(GeoBenchError, match=f"a/{name}:1: expected the fingerprint line, got"):
        read_all([run])


@pytest.mark.parametrize("field, value, said", [
    ("target", 99, "d/l0/99 is ranked, which edits/injection.jsonl does not have"), ("list", "no", "d/no/5 is ranked, which edits"),
    ("text_sha", "x", r"1 of 4 edits are not ranked as they are \(d/l0/5 the first\)"),
])  # fmt: skip
def test_ranks_of_no_edit_and_edits_without_ranks_are_refused(study, tmp_path, field, value, said):
    run = study.submission(tmp_path / "a", {"injection": [1, 1, 1, 1]})
    file = tmp_path / "a" / "ranks" / "bm25" / "injection.jsonl"
    head, first, *rest = file.read_text().splitlines()
    file.write_text("\n".join([head, json.dumps(json.loads(first) | {field: value}), *rest]) + "\n")
    with pytest.raises(GeoBenchError, match=f"a/ranks/bm25/injection.jsonl: {said}"):
        read_all([run])
    file.write_text(head + "\n")
    with pytest.raises(GeoBenchError, match="4 of 4 edits are not ranked as they are"):
        read_all([run])
