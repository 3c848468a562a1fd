"""A notebook is reused only while nothing that it reads has changed."""

import pytest

from geobench import paths
from geobench.digests import digest, files, intact, outputs, seal
from geobench.params import load


@pytest.mark.parametrize("name, file, read", [
    ("01_data", "catalog.jsonl", False), ("02_white_box", "catalog.jsonl", True), ("08_figures", "catalog.jsonl", True),
    ("04_rewrites", "edits/tap.jsonl", False), ("05_ranking", "edits/tap.jsonl", True), ("06_detection", "ranks/bm25/tap.jsonl", False),
    ("07_statistics", "ranks/bm25/tap.jsonl", True), ("08_figures", "scores/judge.jsonl", True),
    ("11_search_data", "edits/tap.jsonl", False),
    ("12_search_answers", "search/instances.jsonl", True), ("13_guard", "search/contexts.jsonl", False),
    ("11_search_data", "search/labels_ann.csv", False), ("12_search_answers", "search/labels_ann.csv", True),
    ("13_guard", "search/labels_ann.csv", False), ("14_defences", "search/labels_ann.csv", False),
    ("15_search_statistics", "search/labels_ann.csv", False),
    ("14_defences", "search/answers/minilm.jsonl", True), ("15_search_statistics", "edits/tap.jsonl", True),
])  # fmt: skip
def test_what_each_notebook_reads(tmp_path, name, file, read):
    params = load("smoke")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("one")
    before = digest(params, tmp_path, name)
    assert digest(params, tmp_path, name) == before
    (tmp_path / file).write_text("two")
    assert (digest(params, tmp_path, name) != before) == read


def test_a_readers_name_counts(tmp_path):
    (tmp_path / "search").mkdir()
    file = tmp_path / "search/labels_ann.csv"
    file.write_text("item,asr\n")
    before = digest(load("smoke"), tmp_path, "12_search_answers")
    file.rename(file.with_name("labels_bob.csv"))
    assert digest(load("smoke"), tmp_path, "12_search_answers") != before


def test_the_embedded_corpus_counts_for_all_and_its_labels_where_they_are_read(tmp_path, monkeypatch):
    from geobench.search import grading

    monkeypatch.setattr(grading, "LABELS", tmp_path / "labels.csv")
    names, before = ("11_search_data", "12_search_answers", "13_guard"), {}
    for text in ("one", "two"):
        grading.LABELS.write_text(text)
        made = {name: digest(load("smoke"), tmp_path / "run", name) for name in names}
        assert {n for n in names if made[n] != before.get(n, made[n])} == (set() if text == "one" else {"12_search_answers"})
        before = made


def test_parameters_count_and_the_batch_size_does_not(tmp_path):
    base = digest(load("smoke"), tmp_path, "05_ranking")
    assert digest(load("smoke", {"seed": 1}), tmp_path, "05_ranking") != base
    assert digest(load("smoke", {"batch_size": 1, "checkpoint_every": 7}), tmp_path, "05_ranking") == base


def test_an_external_file_counts(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("dataset,list,target,suffix\n")
    params = load("smoke", {"external_edits": [str(file)]})
    before = digest(params, tmp_path, "03_black_box")
    file.write_text("dataset,list,target,suffix\nkitchen,kettle,1,Good.\n")
    assert digest(params, tmp_path, "03_black_box") != before


def test_an_own_list_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "EMBEDDED", tmp_path / "data")
    for dataset in ("mine", "other"):
        (tmp_path / "data" / dataset).mkdir(parents=True)
        (tmp_path / "data" / dataset / "pots.jsonl").write_text("one")
    params = load("smoke", {"datasets": ["mine"]})
    before = digest(params, tmp_path / "run", "01_data")
    (tmp_path / "data" / "other" / "pots.jsonl").write_text("two")
    assert digest(params, tmp_path / "run", "01_data") == before
    (tmp_path / "data" / "mine" / "pots.jsonl").write_text("two")
    assert digest(params, tmp_path / "run", "01_data") != before


@pytest.mark.parametrize("file", ["nouns.yaml", "sources.yaml"])
def test_a_changed_query_noun_and_a_changed_pin_count(tmp_path, monkeypatch, file):
    params = load("smoke")
    monkeypatch.setattr(paths, "EMBEDDED", tmp_path)
    monkeypatch.setattr(paths, "SOURCES", tmp_path / "sources.yaml")
    (tmp_path / file).write_text('"kitchen/chef knife": "chef knife"')
    before = digest(params, tmp_path / "run", "01_data")
    (tmp_path / file).write_text('"kitchen/chef knife": "knife"')
    assert digest(params, tmp_path / "run", "01_data") != before


def test_weights_trained_again_into_the_same_folder_count_where_they_are_used(tmp_path):
    name, weights = f"path:{tmp_path}:attention", tmp_path / "model.safetensors"
    params = load("smoke", {"rankers": [name], "main_ranker": name, "judge": f"path:{tmp_path}"})
    used = ("05_ranking", "06_detection", "09_evaluation_ladder", "04_rewrites", "07_statistics")
    made = {}
    for text in ("one", "two"):
        weights.write_text(text)
        made[text] = {notebook: digest(params, tmp_path / "run", notebook) for notebook in used}
    assert [made["one"][n] != made["two"][n] for n in used] == [True, True, False, False, False]


def test_a_trained_guards_weights_count(tmp_path):
    params, weights = load("smoke", {"search_guard_folder": str(tmp_path)}), tmp_path / "model.safetensors"
    weights.write_text("one")
    before = digest(params, tmp_path / "run", "14_defences")
    weights.write_text("two")
    assert digest(params, tmp_path / "run", "14_defences") != before


def test_a_notebooks_outputs_are_what_it_wrote_and_the_records_that_it_left_complete(tmp_path):
    for name in ("tables/old.csv", "edits/sts.jsonl", "edits/.checkpoints/sts/x", "ranks/bm25/sts.jsonl", "status.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    before = files(tmp_path)
    assert sorted(before) == ["edits/sts.jsonl", "ranks/bm25/sts.jsonl", "tables/old.csv"]
    (tmp_path / "tables/new.csv").write_text("2")
    assert outputs("01_data", before, files(tmp_path)) == ["tables/new.csv"]
    assert outputs("02_white_box", before, files(tmp_path)) == ["edits/sts.jsonl", "tables/new.csv"]


def test_an_output_that_was_overwritten_is_no_longer_the_notebooks(tmp_path):
    for name in ("tables/main.csv", "edits/tap.jsonl", "notebooks/05_ranking.ipynb", "search/embeddings.npz", "catalog.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one")
    made = sorted(files(tmp_path))
    kept = {"outputs": made, "sealed": seal(tmp_path, made)}
    assert sorted(kept["sealed"]) == ["catalog.jsonl", "tables/main.csv"] and intact(tmp_path, kept)
    for name in ("edits/tap.jsonl", "notebooks/05_ranking.ipynb", "search/embeddings.npz"):  # records grow, and refuse other conditions
        (tmp_path / name).write_text("two")
    assert intact(tmp_path, kept) and intact(tmp_path, {})
    for name in kept["sealed"]:
        (tmp_path / name).write_text("two")
        assert not intact(tmp_path, kept)
        (tmp_path / name).write_text("one")
    (tmp_path / "edits/tap.jsonl").unlink()
    assert not intact(tmp_path, kept)


def test_what_another_notebook_writes_at_the_same_time_is_not_counted(tmp_path):
    before = files(tmp_path)
    wrote = ("ranks/bm25/sts.jsonl", "scores/judge.jsonl", "notebooks/05_ranking.ipynb", "notebooks/06_detection.ipynb",
             "tables/table_18_auroc.csv", "tables/rankers.csv")  # fmt: skip
    for name in wrote:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    after = files(tmp_path)
    assert outputs("05_ranking", before, after) == ["notebooks/05_ranking.ipynb", "ranks/bm25/sts.jsonl", "tables/rankers.csv"]
    assert outputs("06_detection", before, after) == ["notebooks/06_detection.ipynb", "scores/judge.jsonl", "tables/table_18_auroc.csv"]
