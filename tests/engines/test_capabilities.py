"""The table of capabilities beside the engines that it speaks of, and the page that shows it."""

import inspect
from pkgutil import resolve_name

import pytest

from geobench import paths
from geobench.engines.capabilities import ENGINES, GIVES, USES, document, engines_with, refusal
from geobench.errors import GeoBenchError

CHAT = [{"role": "user", "content": "Say hello."}]


def test_who_can_do_what():
    assert engines_with("gradients") == ["local"] and engines_with("structured") == ["vllm"] and engines_with("served") == ["openai"]
    assert engines_with("text_logprobs") == ["local", "vllm"] and set(GIVES) == set(USES)
    said = "white_box: `m` runs under vLLM, which does not give gradients; use a local model"
    assert str(refusal("white_box", "m", "vllm", GIVES["gradients"])) == said


@pytest.mark.parametrize("name", ENGINES)
def test_its_classes_are_there_and_take_structures_where_the_table_says_so(name):
    row = ENGINES[name]
    (causal,) = {resolve_name(address) for kind, address in row.load.items() if kind == "causal_lm"}
    assert ("structure" in inspect.signature(causal.generate).parameters) == row.structured == getattr(causal, "structures", False)
    assert all(inspect.isclass(resolve_name(address)) for address in row.load.values())
    assert row.ready is None or callable(resolve_name(row.ready))


def refused(call) -> bool:
    try:
        list(call())
    except GeoBenchError as error:
        assert "does not give" in str(error)
        return True
    return False


@pytest.mark.parametrize("name", ["local", "openai"])
def test_the_engine_gives_what_the_table_says(name, tiny_model, api_model, server):
    engine, row = tiny_model("llama") if name == "local" else api_model(top_logprobs=5), ENGINES[name]
    assert refused(lambda: engine.encode_chat(CHAT)) == (not row.tokens)
    assert refused(lambda: engine.sequence_logprobs(["A lens."])) == (not row.text_logprobs)
    assert hasattr(engine, "model") == row.gradients
    from geobench.engines.decoding import Decoding

    assert len(engine.generate([CHAT], Decoding(3, 1.0, 0.9), seeds=[7])) == 1 and row.chat
    assert name == "local" or server.asked[-1]["seed"] == 7 and row.seeded


def test_the_page_shows_the_table():
    assert document() in (paths.ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
