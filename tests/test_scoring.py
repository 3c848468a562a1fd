"""The trained detector's scores of a run: complete, kept, and made anew where a text changed."""

import json

import numpy as np
import pytest

from geobench import run
from geobench.editing import make_edits
from geobench.params import load
from geobench.records import read_fingerprint
from geobench.scoring import read_scores, score_trained


class Letters:
    """Embeds a text as the counts of its letters."""

    calls = 0

    def identity(self):
        return {"model": "letters"}

    def embed(self, texts):
        Letters.calls += 1
        return np.array([[t.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for t in texts], dtype=float)


@pytest.fixture
def work(tmp_path):
    made = run.Run(tmp_path / "r", load("smoke", {"datasets": ["kitchen"]}))
    made.choose()
    make_edits(made, ["injection"])
    return made


def test_scores_are_kept_until_a_text_changes(work):
    score_trained(work, Letters())
    first = read_scores(work, "trained")
    assert first.groupby("variant").size().to_dict() == {"injection": 4, "original": 4} and first.score.notna().all()
    calls = Letters.calls
    score_trained(work, Letters())
    assert Letters.calls == calls and read_fingerprint(work.folder / "scores" / "trained.jsonl")["detector"]["left_out"] == "list"
    edits = work.folder / "edits" / "injection.jsonl"
    lines = edits.read_text().splitlines()
    edits.write_text("\n".join([*lines[:-1], json.dumps(json.loads(lines[-1]) | {"text": "zzz zzz"})]) + "\n")
    score_trained(work, Letters())
    assert Letters.calls == calls + 1 and (read_scores(work, "trained").score.to_numpy() != first.score.to_numpy()).any()


def test_one_list_has_no_trained_detector(tmp_path):
    made = run.Run(tmp_path / "r", load("smoke", {"datasets": ["kitchen"], "lists_per_dataset": 1}))
    made.choose()
    make_edits(made, ["injection"])
    with pytest.warns(UserWarning, match="one list has no other list"):
        score_trained(made, Letters())
    assert not (made.folder / "scores" / "trained.jsonl").exists()
