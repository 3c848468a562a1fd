"""A model that cannot play its role is refused by name before anything loads."""

import pytest

from geobench import models
from geobench.errors import GeoBenchError
from geobench.models import ModelSpec
from geobench.params import load


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    real = models.spec

    def spec(name):
        served = {"served": "openai", "paged": "vllm", "other": "vllm"}
        return ModelSpec(name=name, weights=f"hf:x/{name}", engine=served[name], read_outs=["generate"]) if name in served else real(name)

    for module in ("geobench.models", "geobench.roles", "geobench.rankers"):
        monkeypatch.setattr(f"{module}.spec", spec)


@pytest.mark.parametrize("values, said", [
    ({"optimised_on": "paged"}, "white_box: `paged` runs under vLLM, which does not give gradients; use a local model"),
    ({"reference_model": "served"}, "reference_model: `served` is served over an API, which does not give log-probabilities"),
    ({"black_box": ["tap__paged"], "tap_ranker": "other:generate"}, "tap_ranker: `other` and TAP's attacker `paged` both run under vLLM"),
    ({"judge": "minilm"}, "judge: expected a causal language model (kind `causal_lm`), got `minilm`, a `bi_encoder`"),
    ({"white_box": ["sts", "sts__smollm2-135m"]}, "variant `sts__smollm2-135m` is asked for twice"),
    ({"generate_stride": 3}, "generate_stride: expected less than generate_window"),
])  # fmt: skip
def test_refused(values, said):
    with pytest.raises(GeoBenchError) as error:
        load("smoke", values)
    assert said in str(error.value)


def test_the_profiles_pass():
    for profile in ("smoke", "paper", "paper_v1", "released"):
        assert load(profile).judge
