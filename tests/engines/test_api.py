import pytest

from geobench.engines import api
from geobench.errors import GeoBenchError
from geobench.models import ModelSpec


def row(**more):
    return ModelSpec("mini", "openai:mini", engine="openai", api=more or None)


def test_prices_are_per_million_tokens():
    assert api.Prices(input=0.15, output=0.6).dollars(2_000_000, 500_000) == pytest.approx(0.6)


@pytest.mark.parametrize("values, said", [
    ({"base_ulr": "x"}, "models.yaml: model `mini`: api.base_ulr: Extra inputs are not permitted"),
    ({"top_logprobs": 30}, "api.top_logprobs: Input should be less than or equal to 20, got '30'"),
    ({"prices": {"input": -1, "output": 0}}, "api.prices.input"),
    ({"concurrency": 0}, "api.concurrency"),
    ({"body": {"x": float("nan")}}, "api.body: Value error, Out of range float values are not JSON compliant"),
    ({"body": {"temperature": 1, "seed": 2, "top_k": 1}}, "api.body: Value error, seed, temperature: set by the benchmark's own"),
])  # fmt: skip
def test_bad_settings_are_named(values, said):
    with pytest.raises(GeoBenchError) as error:
        api.settings(row(**values))
    assert said in str(error.value)


def test_the_key_comes_from_the_environment_alone(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(GeoBenchError, match="environment variable OPENAI_API_KEY is not set"):
        api.key(row())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert api.key(row()) == "sk-1" and api.key(row(key_env=None)) == "none"
    with pytest.raises(GeoBenchError, match="api.api_key"):
        api.settings(row(api_key="sk-1"))
