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


def test_a_folders_weights_are_known_by_their_content(tmp_path):
    def revision():
        return models.spec(f"path:{tmp_path}").identity()["revision"]

    assert revision() is None
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"one")
    first = revision()
    assert first == revision() and len(first) == 16
    (tmp_path / "trainer.log").write_text("epoch 1")
    assert revision() == first  # no loader reads it
    (tmp_path / "model.safetensors").write_bytes(b"two")  # trained on, of the same size, into the same folder
    assert revision() != first
    (tmp_path / "model.safetensors").write_bytes(b"one")
    assert revision() == first


def test_a_relative_folder_is_the_checkouts():
    from geobench import paths

    assert models.spec("path:weights/mine").folder == paths.ROOT / "weights" / "mine"
    assert models.spec("path:/somewhere/mine").folder.as_posix() == "/somewhere/mine"


@pytest.mark.parametrize("row, message", [
    ("{weights: 'ftp:x'}", "weights must start with wheel:, hf:"),
    ("{dtype: float32}", "weights must start with"),
    ("{weights: 'hf:x', dtpe: float32}", "unknown key `dtpe`. Did you mean `dtype`"),
    ("{weights: 'hf:x', read_outs: [atention]}", "unknown read-out `atention`. Did you mean `attention`"),
    ("{weights: 'hf:x', engine: vlm}", "model `mine`: no engine `vlm`. Did you mean `vllm`"),
    ("{weights: 'hf:x', engine: [vllm]}", "model `mine`: engine: Input should be a valid string"),
    ("{weights: hf}", "weights must start with wheel:, hf:"),
    ("{weights: 'hf:x', read_outs: generate}", "model `mine`: read_outs: Input should be a valid tuple"),
    ("{weights: 'hf:x', read_outs: null}", "model `mine`: read_outs: "), ("{weights: 'hf:x', parameters: x}", "model `mine`: parameters: "),
    ("{weights: 'hf:x', throughput: 5}", "model `mine`: throughput: "), ("{weights: 'hf:x', dtype: float8}", "model `mine`: dtype: "),
    ("{weights: 'hf:x', throughput: {input: 0, output: 1, source: x}}", "throughput.input: Input should be greater than 0, got '0'"),
    ("{weights: 'hf:x', throughput: {input: 1, output: 1}}", "throughput.source: Field required"),
    ("{weights: 'hf:x', api: [1]}", "model `mine`: api: Input should be a valid dictionary"),
    ("{weights: 'hf:x', kind: encoder}", "`engine: local` runs models of kind causal_lm, bi_encoder, cross_encoder, not 'encoder'"),
])
def test_a_bad_row_is_refused(tmp_path, row, message):
    with pytest.raises(GeoBenchError, match=message):
        table(tmp_path, row)


def only(monkeypatch, known):
    monkeypatch.setattr(models, "registry", lambda path=None: known)
    monkeypatch.setattr(models, "_open", {})


@pytest.mark.parametrize("row, said", [
    ("{weights: 'openai:x'}", "go together"), ("{weights: 'hf:x', engine: openai}", "go together"),
    ("{weights: 'openai:x', engine: openai, read_outs: [generate, attention]}", "an API offers generate and cross_encoder, not attention"),
    ("{weights: 'hf:x', engine: vllm, read_outs: [attention]}", "vLLM offers generate and cross_encoder, not attention"),
    ("{weights: 'openai:x', engine: openai, kind: cross_encoder}", "`engine: openai` runs models of kind causal_lm, not 'cross_encoder'"),
    ("{weights: 'hf:x', engine: vllm, kind: bi_encoder}", "`engine: vllm` runs models of kind causal_lm, not 'bi_encoder'"),
])  # fmt: skip
def test_an_api_row_is_checked(tmp_path, row, said):
    with pytest.raises(GeoBenchError, match=said):
        table(tmp_path, row)


def test_hub_weights_need_a_pinned_revision(tmp_path, monkeypatch):
    only(monkeypatch, table(tmp_path, "{weights: 'hf:some/model'}"))
    said = "model `mine`: no revision; add `revision: COMMIT` to its row .*git ls-remote .*some/model HEAD"
    with pytest.raises(GeoBenchError, match=said):
        models.open_model("mine")


def test_an_api_model_opens_with_its_key_and_a_process_wide_budget(tmp_path, monkeypatch):
    from geobench.engines.budget import CURRENT

    only(monkeypatch, table(tmp_path, "{weights: 'openai:x', engine: openai, api: {key_env: MY_KEY, base_url: 'http://127.0.0.1:9/v1'}}"))
    monkeypatch.setenv("GEOBENCH_REPLIES", str(tmp_path / "r.sqlite"))
    with pytest.raises(GeoBenchError, match="environment variable MY_KEY is not set"):
        models.open_model("mine")
    monkeypatch.setenv("MY_KEY", "k")
    engine = models.open_model("mine", batch_size=3)
    assert (type(engine).__name__, engine.batch_size, engine.budget) == ("OpenAIModel", 3, CURRENT)
    assert models.open_model("mine") is engine and "k" not in str(engine.identity()).split()
