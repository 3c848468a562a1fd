import json

import numpy as np
import pytest

from geobench.errors import GeoBenchError
from geobench.search.defences import defence_run
from geobench.search.defences.base import by_score


class Words:
    """A detector that flags chunks with a word; tau 0.5."""

    name, tau = "guard", 0.5

    def __init__(self, flag):
        self.flag = flag

    def identity(self):
        return {"defence": "words", "flag": self.flag.__name__}

    def decide(self, texts, documents=None):
        return [by_score(float(self.flag(n, t)), 0.5) for n, t in enumerate(texts)]

    def scores(self, texts):
        return np.array([float(self.flag(n, t)) for n, t in enumerate(texts)])


def first(n, text):
    return n == 0


def everything(n, text):
    return True


def nothing(n, text):
    return False


@pytest.fixture
def run(search):
    """Defences over the two-instance run of the search tests, answered by the extractive victim."""
    search.make_contexts()
    search.make_answers("minilm:extractive")
    made = defence_run.DefenceRun(search.work)
    made.search = search
    made.__dict__["detectors"] = {"guard": Words(first), "tfidf": Words(everything), "frozen": Words(nothing)}
    return made


def test_candidates_begin_with_what_the_victim_was_shown(run):
    shown = [(h["document"], h["start"], h["end"]) for h in run.search.contexts()[0]["hits"]]
    hits = run.candidates[0]["hits"]
    assert [(h.chunk.document, h.chunk.start, h.chunk.end) for h in hits[: len(shown)]] == shown and len(hits) > len(shown)


def test_drop_leaves_a_gap_refill_fills_it_and_all_blocked_is_a_refusal(run):
    top = run.p.search_top
    for configuration, chunks in (("guard:drop", top - 1), ("guard:refill", top)):
        rows = run.defended(configuration)
        assert len(rows) == 6 and all(r["changed"] and r["passages"] for r in rows)
        assert all(len(r["passages"]) <= chunks for r in rows)
    (row,) = [
        r
        for r in run.make_answers("minilm:extractive", ["tfidf:drop"])
        if r["condition"] == "id" and r["name"] == run.candidates[0]["name"]
    ]
    assert row["empty"] and row["stance"] == "refused" and row["asr"] == 0 and row["accuracy"] == 0


def test_an_unchanged_context_keeps_its_answer_and_equal_contexts_share_one(run):
    plain = {(r["name"], r["condition"]): r["answer"] for r in run.search.answers("minilm:extractive")}
    rows = run.make_answers("minilm:extractive", ["frozen:drop", "guard:refill"])
    assert all(r["answer"] == plain[r["name"], r["condition"]] for r in rows if r["defence"] == "frozen:drop")
    file = run.folder / "defended/minilm__extractive.jsonl"
    made = len(file.read_text().splitlines())
    run.make_answers("minilm:extractive", ["frozen:drop", "guard:refill"])
    assert made == len(file.read_text().splitlines()) == 7  # a fingerprint and six changed contexts


def test_a_wiring_run_of_guard_models_and_the_self_check(run):
    run.p = run.p.model_copy(update={"search_guard_instances": 1})
    made = run.decide("llama_guard")
    assert len(made) == 3 and all(len(d) == run.p.search_top for d in made.values())
    rows = [json.loads(line) for line in (run.folder / "decisions/llama_guard.jsonl").read_text().splitlines()]
    assert rows[0]["fingerprint"]["wiring"] is True and set(rows[1]["decisions"][0]) >= {"risk", "raw", "parsed", "polarity"}
    assert (run.chunk_guards, run.answer_guards) == (["granite", "llama_guard"], ["nemo"])
    run.p = run.p.model_copy(update={"search_guard_models": {"nemo_package": "smollm2-135m", "llama_guard": "smollm2-135m"}})
    assert (run.chunk_guards, run.answer_guards) == (["llama_guard"], ["nemo_package"])
    run.p = run.p.model_copy(update={"search_guard_models": {"nemo": "smollm2-135m"}})
    checks = run.self_check("minilm:extractive")
    assert len(checks) == 3 and {c["polarity"] for c in checks} == {"yes_is_grounded"}


def test_without_answers_it_says_which_notebook_to_run(search):
    with pytest.raises(GeoBenchError):
        defence_run.DefenceRun(search.work).candidates
