"""Engines and roles: what an engine cannot give is refused from the parameters alone."""

import pytest

from geobench import models, preflight, runner
from geobench.errors import GeoBenchError
from geobench.models import ModelSpec
from geobench.params import load


@pytest.fixture(autouse=True)
def rows(monkeypatch):
    known = dict(models.registry())
    for name in ("one", "two"):
        known[name] = ModelSpec(name, "path:/w", engine="vllm", read_outs=("generate", "cross_encoder"))
    for name, top in (("served", 0), ("listed", 20)):
        api = {"top_logprobs": top}
        known[name] = ModelSpec(name, "openai:x", engine="openai", read_outs=("generate", "cross_encoder"), api=api)
    monkeypatch.setattr(models, "registry", lambda path=None: known)


@pytest.mark.parametrize("values, said", [
    ({"white_box": ["sts__one"]}, "white_box: `one` runs under vLLM, which does not give gradients; use a local model"),
    ({"white_box": ["sts__served"]}, "white_box: `served` is served over an API, which does not give gradients"),
    ({"reference_model": "served"}, "reference_model: `served` is served over an API, which does not give log-probabilities of"),
    ({"judge": "served"}, "judge: `served` is served over an API, which does not give log-probabilities .*top_logprobs:` .* is 0"),
    ({"rankers": ["served:cross_encoder"], "main_ranker": "served:cross_encoder"}, "rankers: `served` is served .* log-probabilities"),
    ({"black_box": ["tap__one"], "tap_ranker": "two:generate"}, "tap_ranker: `two` and TAP's attacker `one` both run under vLLM"),
])  # fmt: skip
def test_it_is_refused(values, said):
    with pytest.raises(GeoBenchError, match=said):
        load("smoke", values)


@pytest.mark.parametrize("values", [
    {"judge": "listed", "rankers": ["listed:cross_encoder"], "main_ranker": "listed:cross_encoder"},
    {"reference_model": "one", "judge": "one"}, {"black_box": ["tap__one"], "tap_ranker": "one:generate"},
    {"black_box": ["tap__one"], "tap_ranker": "bm25"}, {"black_box": ["zero_shot__one"], "tap_ranker": "two:generate"},
    {"rankers": ["one:generate"], "main_ranker": "one:generate", "rank_structure": "numbers"},
])  # fmt: skip
def test_it_is_allowed(values):
    assert load("smoke", values)


def test_the_ladder_s_rankers_are_held_to_the_structure_where_notebook_09_runs():
    held = {"rankers": ["one:generate"], "main_ranker": "one:generate", "rank_structure": "json"}
    said = "rank_structure: `smollm2-135m` of ladder_rankers cannot be held to `json`"
    with pytest.raises(GeoBenchError, match=said):  # the smoke profile's ladder has a local ranker that generates
        preflight.check(runner.plan("smoke", held), weights=False)
    preflight.check(runner.plan("smoke", held, only=["05"]), weights=False)
    preflight.check(runner.plan("smoke", held | {"ladder_rankers": None}), weights=False)  # null: the main ranker


@pytest.mark.parametrize("values, said", [
    ({"judge": "minilm"}, "judge: expected a causal language model .*, got `minilm`, a `bi_encoder`"),
    ({"white_box": ["sts", "sts__smollm2-135m"]}, "variant `sts__smollm2-135m` is asked for twice"),
    ({"generate_stride": 3}, "generate_stride: expected less than generate_window"),
])  # fmt: skip
def test_models_that_cannot_play_their_role(values, said):
    with pytest.raises(GeoBenchError, match=said):
        load("smoke", values)
