"""The vLLM engine, in this process: `engine: vllm` of a row in params/models.yaml. Generates, scores texts and single answers.

Prompts are rendered and encoded here, as for the local engine, and given to vLLM as token ids: it adds no second BOS, and equal
beginnings are computed once (prefix caching). vLLM is no dependency of this project; it comes with an environment of its own.
A text can depend on what it was batched with, so replies can differ from the local engine's where two tokens are nearly tied.
"""

import atexit
import os
from collections.abc import Callable, Iterator

import numpy as np

from geobench.engines.capabilities import ENGINES
from geobench.engines.chat_prompt import ChatPrompts
from geobench.engines.decoding import Decoding
from geobench.engines.reply import Messages, Reply
from geobench.engines.vllm_settings import require, settings
from geobench.errors import GeoBenchError, came

# Before vLLM is imported: its engine runs in a fresh process (a fork fails once CUDA was touched) and tells nobody that it runs.
ENVIRONMENT = {"VLLM_WORKER_MULTIPROC_METHOD": "spawn", "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR"}

FORMS = {"backend": "xgrammar", "disable_any_whitespace": True}  # a small model may write blanks up to the limit


class VllmModel(ChatPrompts):
    """A causal LM under vLLM, which sizes its own batches; `batch_size` bounds how many jobs are given to it at once.

    One engine lives per process: opening another releases it, and a released one refuses to work.
    """

    batch_size = 32
    structures = ENGINES["vllm"].structured  # replies can be held to a regular expression or a JSON schema
    _live: "VllmModel | None" = None

    def __init__(self, spec):
        require(spec)
        from transformers import AutoTokenizer

        from geobench.engines.control_tokens import of_tokenizer
        from geobench.weights import locate

        self.spec, self._gone = spec, None
        where, revision = locate(spec)
        if VllmModel._live:
            VllmModel._live.close(f"`{spec.name}` took its place, and one vLLM engine lives per process")
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(where, revision=revision)
            self._llm = self._load(where, revision)
        except (OSError, RuntimeError, ValueError) as error:
            raise GeoBenchError(f"model `{spec.name}`: vLLM could not load {where} ({came(error)})") from error
        VllmModel._live, self.control = self, of_tokenizer(self.tokenizer)
        self.context = int(self._llm.llm_engine.model_config.max_model_len)  # longest sequence in tokens
        self.ends = self._ends(where, revision)
        atexit.register(self.close)

    def _load(self, where: str, revision: str | None):
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        import vllm

        asked = settings(self.spec)
        return vllm.LLM(
            model=where, revision=revision, tokenizer_revision=revision, dtype=self.spec.dtype, seed=0, enable_prefix_caching=True,
            tensor_parallel_size=asked.tensor_parallel, gpu_memory_utilization=asked.memory, max_model_len=asked.context,
            enforce_eager=asked.eager, generation_config="vllm", disable_log_stats=True, structured_outputs_config=FORMS,
        )

    def _ends(self, where: str, revision: str | None) -> list[int]:
        """Tokens that end a reply: the generation config's and the tokenizer's, as for the local engine."""
        from transformers import GenerationConfig

        try:
            found = GenerationConfig.from_pretrained(where, revision=revision).eos_token_id
        except OSError:
            found = None
        return sorted({t for t in (*(found if isinstance(found, list) else [found]), self.tokenizer.eos_token_id) if t is not None})

    def identity(self) -> dict:
        return self.spec.identity()

    @property
    def closed(self) -> bool:
        return self._gone is not None

    def close(self, why: str = "it was released") -> None:
        """End the engine's process and free its memory. A second call does nothing."""
        if self._gone is None:
            self._gone = why
            atexit.unregister(self.close)
            VllmModel._live = None
            self._llm.llm_engine.engine_core.shutdown(timeout=20)
            del self._llm

    def _run(self, rows: list[list[int]], asked: list) -> list:
        """vLLM's outputs, in order. rows: prompt tokens. asked: SamplingParams per row."""
        if self._gone:
            raise GeoBenchError(f"model `{self.spec.name}`: its vLLM engine is gone: {self._gone}")
        outputs = self._llm.generate([{"prompt_token_ids": row} for row in rows], asked, use_tqdm=False)
        for row, output in zip(rows, outputs):
            if list(output.prompt_token_ids) != row:
                raise GeoBenchError(f"model `{self.spec.name}`: vLLM changed a prompt's tokens: {came(output.prompt_token_ids[:8])}")
        return outputs

    # --- generation ---------------------------------------------------------------------------------------------------------

    def generate(
        self, prompts: list[Messages | str], decoding: Decoding, seeds: list[int] | None = None, names: list[str] | None = None,
        alike: list | None = None, structure: list[dict] | None = None,
    ) -> list[Reply]:
        """One reply per prompt, in order, as LocalModel.generate; vLLM finds what prompts share without `alike`.

        structure: per prompt {"regex": ...} or {"json": a schema}.
        """
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        names, seeds = names or [f"prompt {i + 1}" for i in range(len(prompts))], seeds or [0] * len(prompts)
        render: dict[type, Callable] = {str: self.encode, list: self.encode_chat}  # a text is a prompt that was rendered already
        rows = [render[type(p)](p, n, room=decoding.max_new_tokens) for p, n in zip(prompts, names)]
        shown = {"max_tokens": decoding.max_new_tokens, "stop_token_ids": self.ends, "detokenize": False}
        shown |= {"temperature": decoding.temperature, "top_p": decoding.top_p}
        asked = []
        for n, seed in enumerate(seeds):
            held = structure and StructuredOutputsParams(**structure[n])
            drawn = seed % 2**31 if decoding.temperature > 0 else None
            asked.append(SamplingParams(**shown, seed=drawn, structured_outputs=held or None))
        outputs = self._run(rows, asked)
        return [self._reply(row, out.outputs[0]) for row, out in zip(rows, outputs)]

    def _reply(self, row, output) -> Reply:
        """The text without its end token."""
        tokens, finish = list(output.token_ids), "length" if output.finish_reason == "length" else "stop"
        while tokens and tokens[-1] in self.ends:
            tokens.pop()
        text = self.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return Reply(text.strip(), finish, len(row), len(tokens))

    # --- scoring ------------------------------------------------------------------------------------------------------------

    def sequence_logprobs(self, texts: list[str], limit: int | None = None) -> Iterator[tuple[np.ndarray, bool]]:
        """As LocalModel's; a text as long as the context is cut one token earlier, since vLLM always generates one."""
        from vllm import SamplingParams

        limit = min(limit or self.context, self.context - 1)
        first = self.tokenizer.bos_token_id if self.tokenizer.bos_token_id is not None else self.tokenizer.eos_token_id
        coded = [[first, *self.tokenizer(text, add_special_tokens=False)["input_ids"]] for text in texts]
        asked = SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0, detokenize=False)
        rows = [ids[:limit] for ids in coded]
        for ids, row, out in zip(coded, rows, self._run(rows, [asked] * len(rows))):
            listed = zip(row[1:], out.prompt_logprobs[1:])
            yield np.array([found[token].logprob for token, found in listed], dtype=np.float32), len(ids) > limit

    def next_token_logprobs(
        self, prompts: list[Messages], tokens: list[int], shared: int = 0, names: list[str] | None = None
    ) -> Iterator[np.ndarray]:
        """As LocalModel's; vLLM finds what the prompts share by itself."""
        from vllm import SamplingParams

        names = names or [f"prompt {i + 1}" for i in range(len(prompts))]
        rows = [self.encode_chat(p, n, room=1) for p, n in zip(prompts, names)]
        asked = SamplingParams(max_tokens=1, temperature=0.0, logprob_token_ids=list(dict.fromkeys(tokens)), detokenize=False)
        for out in self._run(rows, [asked] * len(rows)):
            found = out.outputs[0].logprobs[0]
            yield np.array([found[token].logprob for token in tokens], dtype=np.float32)
