"""Scores: originals once, edits each, stale texts made anew."""

import pytest

from geobench import paths, run, scoring
from geobench.detectors import perplexity
from geobench.editing import make_edits
from geobench.errors import GeoBenchError
from geobench.params import load
from geobench.records import read_records


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    values = {"datasets": ["kitchen"], "lists_per_dataset": 1, "targets_per_list": 2, "rankers": ["bm25"], "main_ranker": "bm25"}
    made = run.Run(tmp_path / "r", load("smoke", values))
    made.choose()
    make_edits(made, ["injection"])
    return made


def lengths(texts, names):
    return ({"score": float(len(text))} for text in texts)


def test_originals_come_first_and_scores_are_of_the_texts(work):
    rows = scoring.texts(work)
    assert [r["variant"] for r in rows] == ["original", "original", "injection", "injection"]
    assert rows[0]["text"] == work.tasks[0].item.description
    scoring.score_all(work, "length", {}, lengths)
    assert scoring.read_scores(work, "length")["score"].tolist() == [len(r["text"]) for r in rows]


def test_a_second_call_asks_for_nothing_and_a_stopped_one_goes_on(work):
    def one_then_stop(texts, names):
        yield {"score": 1.0}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scoring.score_all(work, "length", {}, one_then_stop)
    asked = []
    scoring.score_all(work, "length", {}, lambda texts, names: asked.extend(names) or lengths(texts, names))
    assert len(asked) == 3 and asked[0].endswith(f"item {work.tasks[1].target}, original")
    scoring.score_all(work, "length", {}, None)
    assert len(read_records(work.folder / "scores/length.jsonl")) == 4


def test_an_empty_text_is_named_before_any_score(work):
    with pytest.raises(GeoBenchError, match="kitchen/x item 1, tap: the text is empty"):
        list(perplexity.score(None, ["a", " \n"], names=["other", "kitchen/x item 1, tap"]))
