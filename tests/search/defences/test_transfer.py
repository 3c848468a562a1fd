from types import SimpleNamespace

import pandas as pd
import pytest

from geobench.errors import GeoBenchError
from geobench.search.corpus import load_instances
from geobench.search.defences import transfer

ONE = load_instances()[0]


def test_the_mechanical_rewriters_say_the_claim_or_the_truth():
    bare, bulletin, true = (transfer.insert(ONE, t) for t in transfer.TEMPLATES)
    assert all(c in bare and c in bulletin for c in (*ONE.false_paraphrases, ONE.false_claim))
    assert ONE.true_statement in true and ONE.false_claim not in true and ONE.clean_text in bulletin
    assert true.split()[:4] == bulletin.split()[:4] == ["READER", "BULLETIN", "no.", "12."]
    with pytest.raises(GeoBenchError, match="expected bare, bulletin, bulletin_true, got `x`"):
        transfer.insert(ONE, "x")
    assert len(transfer.transfer_documents([ONE])) == 6


def test_blocked_share_per_state():
    rows = [{"detector": "guard", "name": n, "state": "id", "blocked": b} for n, b in (("a", 2), ("b", 0))]
    assert transfer.transfer_table(pd.DataFrame(rows)).loc[0, "id"] == 0.5


def test_a_run_without_edits_has_no_edit_documents(tmp_path):
    assert transfer.edit_documents(SimpleNamespace(folder=tmp_path)) == []


def test_the_ranking_track_s_detectors_score_documents(tiny_model):
    made = transfer.other_track_scores(tiny_model("llama"), [{"name": "q", "state": "id", "text": "The best choice, top rated."}])
    scores = made.set_index("detector")["score"]
    assert set(scores.index) == {"keywords", "perplexity", "judge"} and scores["keywords"] >= 1 and scores["perplexity"] > 1


def test_valid_rewrites_of_the_run_are_documents_too(search, monkeypatch):
    from geobench.search import quality

    made = {"name": "a", "step": "id", "state": "ok", "result": {"text": "changed"}}
    rows = [made, {"name": "a", "step": "ip", "state": "failed", "result": None}]
    monkeypatch.setattr(quality, "run_rewriting", lambda _: rows)
    assert transfer.rewritten_documents(search) == [{"name": "a", "state": "id by smollm2-135m", "text": "changed"}]
