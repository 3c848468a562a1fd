"""Scores: originals once, edits each, stale texts made anew."""

import json

import numpy as np
import pytest

from geobench import run, scoring
from geobench.detectors import perplexity
from geobench.editing import make_edits
from geobench.errors import GeoBenchError
from geobench.params import load
from geobench.records import read_fingerprint, read_records


@pytest.fixture
def work(kitchen_run):
    make_edits(kitchen_run, ["injection"])
    return kitchen_run


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


class Letters:
    """Embeds a text as the counts of its letters."""

    calls = 0

    def identity(self):
        return {"model": "letters"}

    def embed(self, texts):
        Letters.calls += 1
        return np.array([[t.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for t in texts], dtype=float)


@pytest.fixture
def four(tmp_path):
    made = run.Run(tmp_path / "r", load("smoke", {"datasets": ["kitchen"], "targets_per_list": 2}))
    made.choose()
    make_edits(made, ["injection"])
    return made


def test_scores_are_kept_until_a_text_changes(four):
    scoring.score_trained(four, Letters())
    first = scoring.read_scores(four, "trained")
    assert first.groupby("variant").size().to_dict() == {"injection": 4, "original": 4} and first.score.notna().all()
    calls = Letters.calls
    scoring.score_trained(four, Letters())
    assert Letters.calls == calls and read_fingerprint(four.folder / "scores" / "trained.jsonl")["detector"]["left_out"] == "list"
    edits = four.folder / "edits" / "injection.jsonl"
    lines = edits.read_text().splitlines()
    edits.write_text("\n".join([*lines[:-1], json.dumps(json.loads(lines[-1]) | {"text": "zzz zzz"})]) + "\n")
    scoring.score_trained(four, Letters())
    assert Letters.calls == calls + 1 and (scoring.read_scores(four, "trained").score.to_numpy() != first.score.to_numpy()).any()


def test_one_list_has_no_trained_detector(tmp_path):
    made = run.Run(tmp_path / "r", load("smoke", {"datasets": ["kitchen"], "lists_per_dataset": 1}))
    made.choose()
    make_edits(made, ["injection"])
    with pytest.warns(UserWarning, match="one list has no other list"):
        scoring.score_trained(made, Letters())
    assert not (made.folder / "scores" / "trained.jsonl").exists()
