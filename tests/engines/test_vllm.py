"""The vLLM engine on a stand-in for the `vllm` package that decodes with the tiny local model; real vLLM: run_vllm.sh."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from geobench.engines import vllm, vllm_settings
from geobench.engines.decoding import Decoding
from geobench.errors import GeoBenchError
from geobench.models import ModelSpec
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker


def chat(text: str) -> list[dict]:
    return [{"role": "system", "content": "You rank."}, {"role": "user", "content": text}]


PROMPTS = [chat("camera"), chat("a bright lens please"), chat("quiet")]


@pytest.fixture
def fake(tiny_model, monkeypatch):
    """What the stand-in was given: `loaded` (arguments of LLM), `asked` (parameters per request), `down` (time-outs of shutdowns)."""
    local, seen = tiny_model("llama"), SimpleNamespace(loaded=[], asked=[], down=[], end=None, change=lambda row: row)

    class LLM:
        def __init__(self, **options):
            seen.loaded.append(options)
            core = SimpleNamespace(shutdown=lambda timeout: seen.down.append(timeout))
            self.llm_engine = SimpleNamespace(model_config=SimpleNamespace(max_model_len=1024), engine_core=core)

        def generate(self, prompts, asked, use_tqdm):
            seen.asked += asked
            return [self._one(seen.change(p["prompt_token_ids"]), a) for p, a in zip(prompts, asked)]

        def _one(self, row, asked):
            written, listed = [], [None] + [{t: SimpleNamespace(logprob=float(local.last_logits(row[:n]).log_softmax(-1)[t]))}
                                            for n, t in enumerate(row) if n] if "prompt_logprobs" in asked else None  # fmt: skip
            while len(written) < asked["max_tokens"] and (not written or written[-1] != seen.end):
                logits = local.last_logits([*row, *written]).log_softmax(-1)
                written.append(int(logits.argmax()))
            found = {t: SimpleNamespace(logprob=float(logits[t])) for t in asked.get("logprob_token_ids", [])}
            finish = "stop" if written[-1] == seen.end else "length"
            out = SimpleNamespace(token_ids=written, finish_reason=finish, logprobs=[found])
            return SimpleNamespace(prompt_token_ids=row, outputs=[out], prompt_logprobs=listed)

    package, sampling = ModuleType("vllm"), ModuleType("vllm.sampling_params")
    package.LLM, package.SamplingParams = LLM, lambda **more: more
    package.sampling_params, sampling.StructuredOutputsParams = sampling, lambda **more: more
    monkeypatch.setitem(sys.modules, "vllm", package)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", sampling)
    monkeypatch.setattr(vllm_settings, "find_spec", lambda name: object())
    for name in vllm.ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    yield seen
    if vllm.VllmModel._live:
        vllm.VllmModel._live.close()


@pytest.fixture
def make(fake, tiny_model):
    def opened(name="mine", **more):
        return vllm.VllmModel(ModelSpec(name, tiny_model("llama").spec.weights, engine="vllm", dtype="float32", vllm=more or None))

    return opened


def test_it_loads_as_the_row_says(make, fake):
    engine = make(tensor_parallel=2, memory=0.4, context=512)
    (options,) = fake.loaded
    assert (options["tensor_parallel_size"], options["gpu_memory_utilization"], options["max_model_len"]) == (2, 0.4, 512)
    assert (options["dtype"], options["enable_prefix_caching"], options["generation_config"]) == ("float32", True, "vllm")
    assert engine.context == 1024 and engine.identity()["engine"] == "vllm"


def test_greedy_replies_are_the_local_engines(make, fake, tiny_model):
    local = tiny_model("llama")
    got, want = make().generate(PROMPTS, Decoding(9)), local.generate(PROMPTS, Decoding(9))
    assert got == want and {a["temperature"] for a in fake.asked} == {0.0} and {a["seed"] for a in fake.asked} == {None}
    assert fake.asked[0]["stop_token_ids"] == [local.tokenizer.eos_token_id]


def test_an_end_token_is_no_text(make, fake, tiny_model, monkeypatch):
    engine = make()
    whole = engine.generate(PROMPTS[:1], Decoding(6))[0]
    tokens = engine.tokenizer(whole.text, add_special_tokens=False)["input_ids"]
    fake.end = int(tiny_model("llama").last_logits([*engine.encode_chat(PROMPTS[0])]).argmax())
    monkeypatch.setattr(engine, "ends", [fake.end])
    reply = engine.generate(PROMPTS[:1], Decoding(6))[0]
    assert (reply.text, reply.finish, reply.tokens_out) == ("", "stop", 0) and tokens


def test_samples_carry_their_seed(make, fake):
    make().generate(PROMPTS[:2], Decoding(2, 0.7, 0.9), seeds=[3, 2**40 + 5])
    assert [(a["seed"], a["temperature"], a["top_p"]) for a in fake.asked] == [(3, 0.7, 0.9), (5, 0.7, 0.9)]


def test_log_probabilities_are_the_local_engines(make, tiny_model):
    local, engine = tiny_model("llama"), make()
    for got, want in zip(engine.next_token_logprobs(PROMPTS, [5, 50, 5]), local.next_token_logprobs(PROMPTS, [5, 50, 5])):
        assert np.allclose(got, want, atol=1e-4)
    texts = ["A bright lens.", "Quiet."]
    for (got, cut), (want, _) in zip(engine.sequence_logprobs(texts, 4), local.sequence_logprobs(texts, 4)):
        assert np.allclose(got, want, atol=1e-4) and cut


def test_a_changed_prompt_is_noticed(make, fake):
    engine, fake.change = make(), lambda row: [0, *row]
    with pytest.raises(GeoBenchError, match="model `mine`: vLLM changed a prompt's tokens"):
        engine.generate(PROMPTS[:1], Decoding(2))


def test_one_engine_lives_and_a_released_one_says_why(make, fake):
    first = make()
    second = make("other")
    assert fake.down == [20] and first.closed and not second.closed
    with pytest.raises(GeoBenchError, match="model `mine`: its vLLM engine is gone: `other` took its place"):
        first.generate(PROMPTS[:1], Decoding(2))
    second.close()
    second.close()
    assert fake.down == [20, 20] and vllm.VllmModel._live is None


def test_structure_reaches_the_engine(make, fake, cameras):
    job = Job(cameras, ((2, 0, 3, 1),))
    list(GenerateRanker("m:generate", make(), 4, structure="numbers").rank([job]))
    assert fake.asked[0]["structured_outputs"] == {"regex": r"\[(1|2|3|4)\]( > \[(1|2|3|4)\]){3}"}
