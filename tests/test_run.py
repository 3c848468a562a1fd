"""A whole run without a model: controls, an external file, BM25, the keyword filter; then resumption and stale texts."""

import json

import pytest

from geobench import run, scoring
from geobench.detectors import keywords
from geobench.editing import import_edits, make_edits
from geobench.errors import GeoBenchError
from geobench.params import load
from geobench.ranking import rank_all, read_ranks
from geobench.records import read_records


@pytest.fixture
def work(kitchen_run):
    return kitchen_run


def test_edits_ranks_and_scores_cover_every_target(work):
    assert make_edits(work, ["injection", "padding"]) == ["injection", "padding"]
    rank_all(work, "bm25")
    clean, edited = read_ranks(work, "bm25")
    assert len(clean) == 1 and len(edited) == 2 * len(work.tasks) == 4
    injected = next(r for r in work.edits()["injection"] if r["target"] == work.tasks[0].target)
    assert injected["text"] == f"{work.tasks[0].item.description} {injected['suffix']}" and work.tasks[0].item.name in injected["suffix"]
    lexicon = keywords.load_lexicon()
    scoring.score_all(work, "keyword", {}, lambda texts, _: ({"score": float(len(keywords.matches(t, lexicon)))} for t in texts))
    scores = scoring.read_scores(work, "keyword")
    assert scores.groupby("variant").size().to_dict() == {"injection": 2, "original": 2, "padding": 2}
    assert (scores[scores.variant == "padding"]["score"].to_numpy() == scores[scores.variant == "original"]["score"].to_numpy()).all()


def test_a_second_call_adds_nothing_and_a_changed_text_is_ranked_again(work):
    make_edits(work, ["injection"])
    rank_all(work, "bm25")
    file = work.folder / "ranks" / "bm25" / "injection.jsonl"
    first = file.read_bytes()
    rank_all(work, "bm25")
    assert file.read_bytes() == first
    edits = work.folder / "edits" / "injection.jsonl"
    lines = edits.read_text().splitlines()
    changed = json.loads(lines[1]) | {"text": "quite another text"}
    edits.write_text("\n".join([lines[0], json.dumps(changed), *lines[2:]]) + "\n")
    rank_all(work, "bm25")
    assert len(read_records(file)) == 3
    edited = [r for r in read_ranks(work, "bm25")[1] if r["target"] == changed["target"]]
    assert [r["text_sha"] for r in edited] == [run.sha("quite another text")]


def test_other_orders_in_one_folder_are_refused(work):
    make_edits(work, ["padding"])
    rank_all(work, "bm25")
    other = run.Run(work.folder, load("smoke", work.params.model_dump() | {"seed": 1}))
    with pytest.raises(GeoBenchError, match="seed: 0 -> 1"):
        rank_all(other, "bm25")


@pytest.mark.parametrize(
    "row,said",
    [
        ({"target": 99, "suffix": "x"}, "no item"),
        ({"target": "one", "suffix": "x"}, "whole-number target"),
        ({"target": 1}, "either suffix or text"),
        ({"target": 1, "suffix": "a", "text": "b"}, "either suffix or text"),
    ],
)
def test_bad_external_edits_are_named(work, tmp_path, row, said):
    lst = work.selected[0].list
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"dataset": lst.dataset, "list": lst.name} | row) + "\n")
    bad = run.Run(work.folder, load("smoke", work.params.model_dump() | {"external_edits": [str(file)]}))
    with pytest.raises(GeoBenchError, match="mine.jsonl row 1.*" + said):
        import_edits(bad)


def test_external_csv(work, tmp_path):
    lst = work.selected[0].list
    file = tmp_path / "mine.csv"
    file.write_text(f"dataset,list,target,suffix\n{lst.dataset},{lst.name},3,Buy it.\n")
    own = run.Run(work.folder, load("smoke", work.params.model_dump() | {"external_edits": [str(file)]}))
    assert import_edits(own) == ["external__mine"]
    (record,) = own.edits()["external__mine"]
    assert record["target"] == 3 and record["text"].endswith(" Buy it.")


def tampered(file, **changes):
    """The file with its first record changed."""
    head, first, *rest = file.read_text().splitlines()
    file.write_text("\n".join([head, json.dumps(json.loads(first) | changes), *rest]) + "\n")


def test_records_that_do_not_belong_are_refused_by_name(work):
    make_edits(work, ["injection"])
    rank_all(work, "bm25")
    edits, ranks = work.folder / "edits" / "injection.jsonl", work.folder / "ranks" / "bm25" / "injection.jsonl"
    whole, ranked, first = edits.read_text(), ranks.read_text(), work.tasks[0]
    bad = (({"variant": "tap"}, "expected `injection`, got `tap`"), ({"target": 99}, "99: no such item among the run's lists"))
    for changes, said in bad:
        tampered(edits, **changes)
        with pytest.raises(GeoBenchError, match=said):
            work.edits()
        edits.write_text(whole)
    (edits.parent / "gcg.jsonl").write_text(whole)
    with pytest.raises(GeoBenchError, match="gcg.jsonl: unknown variant `gcg`"):
        work.edits()
    (edits.parent / "gcg.jsonl").unlink()
    ranks.write_text(ranked + ranked.splitlines()[1] + "\n")
    with pytest.raises(GeoBenchError, match=f"injection.jsonl:4: {first.list.key}, target {first.target}: this target comes twice"):
        read_ranks(work, "bm25")


def test_missing_steps_say_what_to_run(tmp_path):
    empty = run.Run(tmp_path, load("smoke"))
    with pytest.raises(GeoBenchError, match="run notebook 01_data first"):
        empty.tasks
