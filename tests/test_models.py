"""The registry: its rows, and errors that name what is wrong."""

import pytest

from geobench import models
from geobench.errors import GeoBenchError


def table(tmp_path, row: str):
    path = tmp_path / "models.yaml"
    path.write_text(f"models:\n  mine: {row}\n")
    return models.registry(path)


def test_the_shipped_registry_loads():
    row = models.spec("smollm2-135m")
    assert (row.source, row.engine) == ("wheel", "local") and "attention" in row.read_outs
    assert set(row.identity()) == {"model", "weights", "revision", "dtype"}


def test_an_unknown_model_is_answered_with_the_nearest():
    with pytest.raises(GeoBenchError, match="unknown model `smolm2-135m`.*Did you mean `smollm2-135m`"):
        models.spec("smolm2-135m")


def test_a_folder_is_a_model():
    row = models.spec("path:/somewhere/mine")
    assert (row.name, row.source, row.locator) == ("mine", "path", "/somewhere/mine")


@pytest.mark.parametrize("row, message", [
    ("{weights: 'ftp:x'}", "weights must start with wheel:, hf:"),
    ("{dtype: float32}", "weights must start with"),
    ("{weights: 'hf:x', dtpe: float32}", "unknown key `dtpe`. Did you mean `dtype`"),
    ("{weights: 'hf:x', read_outs: [atention]}", "unknown read-out `atention`. Did you mean `attention`"),
])
def test_a_bad_row_is_refused(tmp_path, row, message):
    with pytest.raises(GeoBenchError, match=message):
        table(tmp_path, row)


def test_another_engine_is_refused(tmp_path, monkeypatch):
    known = table(tmp_path, "{weights: 'openai:x', engine: openai}")
    monkeypatch.setattr(models, "registry", lambda path=None: known)
    with pytest.raises(GeoBenchError, match="engine `openai` is not available"):
        models.open_model("mine")
