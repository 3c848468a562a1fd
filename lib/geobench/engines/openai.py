"""The API engine: any OpenAI-compatible chat server. Builds requests and reads what comes back; `server.Server` gets the replies.

Prompts are sent as chat messages and never rendered here. Greedy replies of a server can differ from a local model's.
"""

import math
from collections.abc import Iterator

import numpy as np

from geobench.engines.budget import CURRENT
from geobench.engines.capabilities import GIVES, UNLISTED, refusal
from geobench.engines.control_tokens import ControlTokens
from geobench.engines.reply import Messages, Reply
from geobench.engines.server import Server
from geobench.errors import DoesNotFit, GeoBenchError, came
from geobench.replies import ReplyStore

CHARACTERS = 4  # per token, where a prompt's tokens are only estimated


class Words:
    """Stands where a local model has its tokenizer: each text is one token of its own, for read-outs of single answers."""

    def __init__(self):
        self.texts: list[str] = []

    def __call__(self, text: str, **_) -> dict:
        if text not in self.texts:
            self.texts.append(text)
        return {"input_ids": [self.texts.index(text)]}


class OpenAIModel:
    """`spec.locator` on the server of `spec.api`; `batch_size` bounds how many prompts are given at once, `concurrency` how many fly."""

    batch_size = 8

    def __init__(self, spec, store: ReplyStore | None = None, budget=CURRENT):
        self.spec, self.store, self.budget = spec, store or ReplyStore(), budget
        self.server = Server(spec, self.store, budget)
        self.api, self.control, self.tokenizer = self.server.api, ControlTokens(), Words()

    def identity(self) -> dict:
        return self.spec.identity()

    # --- prompts ------------------------------------------------------------------------------------------------------------

    @property
    def context(self) -> int:
        return self.api.context or 10**9

    def chat_text(self, messages: Messages, add_generation_prompt: bool = True) -> str:
        """The messages' texts; the server's template is not known here."""
        return "\n\n".join(m["content"] for m in self._clean(messages))

    def encode(self, text: str, what: str = "prompt", room: int = 0) -> None:
        """GeoBenchError where a prompt is empty, or cannot fit by an estimate of its length."""
        if not text:
            raise GeoBenchError(f"{what}: the prompt is empty")
        tokens = math.ceil(len(text) / CHARACTERS)
        if tokens + room > self.context:
            raise DoesNotFit(f"{what}: about {tokens} tokens and {room} to generate do not fit the {self.context} of `{self.spec.name}`")

    def encode_chat(self, messages: Messages, what: str = "prompt", room: int = 0):
        raise self._refusal(what, GIVES["tokens"])

    def sequence_logprobs(self, texts: list[str], limit: int | None = None):
        raise self._refusal("perplexity", GIVES["text_logprobs"])

    def _refusal(self, what: str, thing: str) -> GeoBenchError:
        return refusal(what, self.spec.name, self.spec.engine, thing)

    def _clean(self, messages: Messages) -> Messages:
        return [m | {"content": self.control.broken(m["content"])} for m in messages if m["content"]]

    # --- read-outs ----------------------------------------------------------------------------------------------------------

    def generate(self, prompts, decoding, seeds=None, names=None, template: dict | None = None, alike=None) -> list[Reply]:
        """One reply per prompt, in order, as LocalModel.generate; equal calls are asked once. `alike` saves nothing here.

        template: options of the server's chat template, which vLLM takes as `chat_template_kwargs`.
        """
        names, seeds = names or [f"prompt {i + 1}" for i in range(len(prompts))], seeds or [0] * len(prompts)
        calls = []
        for prompt, seed, name in zip(prompts, seeds, names):
            self.encode(self.chat_text(prompt), name, decoding.max_new_tokens)
            options = {self.api.limit_field: decoding.max_new_tokens, "temperature": decoding.temperature}
            if decoding.temperature > 0:
                options |= {"top_p": decoding.top_p, "seed": seed % 2**31}
            options |= {"extra_body": {"chat_template_kwargs": template}} if template else {}
            asked = self._asked("generate", prompt, decoding.identity(), seed if decoding.temperature > 0 else 0) | {"template": template}
            calls.append((name, asked, options))
        return [Reply(r["text"], r["finish"], r["tokens_in"], r["tokens_out"]) for r in self.server.replies(calls)]

    def shared_prefix(self, render) -> int:
        """Nothing is shared that a caller could count on."""
        return 0

    def next_token_logprobs(self, prompts, tokens: list[int], shared: int = 0, names=None) -> Iterator[np.ndarray]:
        """As LocalModel's, from the likeliest tokens that the server lists; one that is not listed counts as the least likely listed."""
        what = (names or ["next token"])[0]
        if not self.api.top_logprobs:
            raise self._refusal(what, UNLISTED)
        options = {self.api.limit_field: 1, "temperature": 0.0, "logprobs": True, "top_logprobs": self.api.top_logprobs}
        names = names or [f"prompt {i + 1}" for i in range(len(prompts))]
        calls = [(name, self._asked("logprobs", p, {"top": self.api.top_logprobs}, 0), options) for p, name in zip(prompts, names)]
        wanted = [self.tokenizer.texts[t] for t in tokens]
        for name, reply in zip(names, self.server.replies(calls)):
            listed = dict(map(tuple, reply["logprobs"]))
            if not set(wanted) & set(listed):
                raise GeoBenchError(f"{name}: none of {wanted} is among the likeliest tokens of `{self.spec.name}`: {came(list(listed))}")
            yield np.array([listed.get(word, min(listed.values())) for word in wanted], dtype=np.float32)

    def _asked(self, kind: str, prompt: Messages, decoding: dict, sample: int) -> dict:
        """What determines a reply: its address in the store."""
        shown = {"kind": kind, "model": self.spec.identity(), "template": None, "messages": self._clean(prompt)}
        return shown | {"decoding": decoding, "sample": sample}
