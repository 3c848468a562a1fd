from types import SimpleNamespace

import pytest

from geobench import models
from geobench.errors import GeoBenchError
from geobench.models import ModelSpec
from geobench.params import load
from geobench.run import Run
from geobench.search.defences import guard_run, separation


@pytest.fixture
def run(tmp_path, monkeypatch, tiny_encoder, triples):
    """A guard run whose encoder is tiny and whose training part has six triples."""
    values = {"search_guard_epochs": 2, "search_guard_batch": 3, "search_guard_rate": 1e-3, "search_guard_holdout": 0.34}
    values |= {"search_chunk_tokens": 64, "search_chunk_overlap": 8, "search_guard_folds": 2, "search_guard_fold_training": True}
    monkeypatch.setattr(models, "_open", {"minilm": SimpleNamespace(model=tiny_encoder())})
    monkeypatch.setattr(guard_run, "fresh", lambda name: tiny_encoder())
    made = guard_run.GuardRun(Run(tmp_path / "r", load("smoke", values)))
    both = ["false_citation", "testimonial"]
    made.__dict__["triples"] = [t.model_copy(update={"categories": both}) for t in triples]
    made.__dict__["near"] = set()  # a random encoder takes all texts for alike
    return made


def test_a_detector_without_scores_is_named():
    with pytest.raises(GeoBenchError, match="defence `mine`: expected `scores"):
        guard_run.scores_of(SimpleNamespace(name="mine"), ["a"])


def test_a_guard_is_trained_once_and_found_again(run, monkeypatch):
    first = run.train(say=lambda _: None)
    kept = (run.folder / "model.safetensors").read_bytes()
    monkeypatch.setattr(guard_run, "fresh", lambda name: pytest.fail("trained again"))
    assert run.train().tau == first.tau and (run.folder / "model.safetensors").read_bytes() == kept
    found = run.open()
    assert list(found) == list(guard_run.DETECTORS) and all(d.tau == run.tau(d) for d in found.values())
    held = [r.text for r in run.parts(run.halves[1], ("clean", "ip"))]
    for detector in found.values():  # four harmless chunks at 5 %: none may be blocked
        assert not any(d.blocked() for d in detector.decide(held))


def test_the_same_seed_gives_the_same_file(run, tmp_path):
    run.train(say=lambda _: None)
    first, run.folder = (run.folder / "model.safetensors").read_bytes(), tmp_path / "again"
    run.train(say=lambda _: None)
    assert (run.folder / "model.safetensors").read_bytes() == first


def test_without_a_guard_or_with_other_settings_it_says_what_to_run(run):
    with pytest.raises(GeoBenchError, match="no guard of these settings.*run notebook 13_guard first"):
        run.open()
    run.train(say=lambda _: None)
    run.p = run.p.model_copy(update={"search_guard_fpr": 0.5})
    with pytest.raises(GeoBenchError, match="no guard of these settings"):
        run.open()


def test_a_fixed_tau_rules(run):
    run.p = run.p.model_copy(update={"search_guard_tau": 0.9})
    assert run.train(say=lambda _: None).tau == 0.9


def test_encoders_that_cannot_be_trained_are_named(run, tmp_path):
    run.__dict__.pop("encoder", None)
    run.p = run.p.model_copy(update={"search_guard_encoder": "smollm2-135m"})
    with pytest.raises(GeoBenchError, match="expected an encoder .*got `smollm2-135m`, a `causal_lm`"):
        run.encoder
    from geobench.engines.encoders import Encoder

    with pytest.raises(GeoBenchError, match="no config.json in .*give a folder of safetensors weights"):
        Encoder(ModelSpec(name="empty", weights=f"path:{tmp_path}", kind="bi_encoder"))


def test_folds_score_every_document_by_detectors_that_never_saw_its_topic(run):
    table = separation.fold_scores(run)
    assert set(table["detector"]) == set(guard_run.DETECTORS)
    assert (table.groupby(["detector", "name", "state"]).size() == 1).all() and table["name"].nunique() == 6
    assert set(table["state"]) == {"clean", "ip", "id", "control"}


def test_a_guard_trained_elsewhere_is_used_at_its_own_tau(run, tmp_path, monkeypatch):
    first = run.train(say=lambda _: None)
    other = guard_run.GuardRun(Run(tmp_path / "other", run.p.model_copy(update={"search_guard_folder": str(run.folder)})))
    other.__dict__.update({"triples": run.triples, "near": set()})
    monkeypatch.setattr(guard_run, "fresh", lambda name: pytest.fail("trained again"))
    assert other.train().tau == first.tau == other.open()["guard"].tau and not other.folder.exists()
