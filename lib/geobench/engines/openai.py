"""The API engine: any OpenAI-compatible chat server, through the `openai` client.

A call is answered from the reply store or asked for, with the client's own retries inside a budget of requests. A reply counts only
when it is whole, is of the model asked for and holds a choice. Greedy replies of a server can differ from a local model's.
"""

import json
import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import openai

from geobench.engines import api
from geobench.engines.budget import CURRENT
from geobench.engines.chat_reply import Unusable, read, servable, usage_of
from geobench.engines.control_tokens import ControlTokens
from geobench.engines.meter import Meter, OutOfAttempts
from geobench.engines.pace import Pace
from geobench.engines.reply import Messages, Reply
from geobench.errors import DoesNotFit, GeoBenchError, came
from geobench.replies import ReplyStore, key_of

PASSING = (openai.RateLimitError, openai.InternalServerError, openai.APIConnectionError, openai.ConflictError)
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
        self.spec, self.api, self.budget = spec, api.settings(spec), budget
        self.store, self.control, self.tokenizer = store or ReplyStore(), ControlTokens(), Words()
        self._key, self._pace, self._local = api.key(spec), Pace(), threading.local()
        http = openai.DefaultHttpxClient(event_hooks={"request": [self._sending], "response": [self._answered]})
        self._client = openai.OpenAI(
            api_key=self._key, base_url=self.api.base_url, timeout=self.api.timeout, max_retries=self.api.retries, http_client=http
        )

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
        raise self._refusal(what, "the tokens of a prompt")

    def sequence_logprobs(self, texts: list[str], limit: int | None = None):
        raise self._refusal("perplexity", "log-probabilities of a given text")

    def _refusal(self, what: str, thing: str) -> GeoBenchError:
        return GeoBenchError(f"{what}: `{self.spec.name}` is served over an API, which does not give {thing}; use a local model")

    def _clean(self, messages: Messages) -> Messages:
        return [m | {"content": self.control.broken(m["content"])} for m in messages if m["content"]]

    # --- read-outs ----------------------------------------------------------------------------------------------------------

    def generate(self, prompts, decoding, seeds=None, names=None, stop=None, template: dict | None = None, alike=None) -> list[Reply]:
        """One reply per prompt, in order, as LocalModel.generate; equal calls are asked once. `stop` and `alike` save nothing here.

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
        return [Reply(r["text"], r["finish"], r["tokens_in"], r["tokens_out"]) for r in self._all(calls)]

    def shared_prefix(self, render) -> int:
        """Nothing is shared that a caller could count on."""
        return 0

    def next_token_logprobs(self, prompts, tokens: list[int], shared: int = 0, names=None) -> Iterator[np.ndarray]:
        """As LocalModel's, from the likeliest tokens that the server lists; one that is not listed counts as the least likely listed."""
        what = (names or ["next token"])[0]
        if not self.api.top_logprobs:
            raise self._refusal(what, "log-probabilities (`api: top_logprobs:` in params/models.yaml is 0)")
        options = {self.api.limit_field: 1, "temperature": 0.0, "logprobs": True, "top_logprobs": self.api.top_logprobs}
        names = names or [f"prompt {i + 1}" for i in range(len(prompts))]
        calls = [(name, self._asked("logprobs", p, {"top": self.api.top_logprobs}, 0), options) for p, name in zip(prompts, names)]
        wanted = [self.tokenizer.texts[t] for t in tokens]
        for name, reply in zip(names, self._all(calls)):
            listed = dict(map(tuple, reply["logprobs"]))
            if not set(wanted) & set(listed):
                raise GeoBenchError(f"{name}: none of {wanted} is among the likeliest tokens of `{self.spec.name}`: {came(list(listed))}")
            yield np.array([listed.get(word, min(listed.values())) for word in wanted], dtype=np.float32)

    # --- requests -----------------------------------------------------------------------------------------------------------

    def _asked(self, kind: str, prompt: Messages, decoding: dict, sample: int) -> dict:
        """What determines a reply: its address in the store."""
        shown = {"kind": kind, "model": self.spec.identity(), "template": None, "messages": self._clean(prompt)}
        return shown | {"decoding": decoding, "sample": sample}

    def _all(self, calls) -> list[dict]:
        """The replies of all calls, in order; the first failure stops those that have not begun, and what came is kept."""
        first = {key_of(asked): (name, asked, options) for name, asked, options in reversed(calls)}
        with ThreadPoolExecutor(self.api.concurrency) as pool:
            found = dict(zip(first, pool.map(lambda call: self._reply(*call), first.values())))
        return [found[key_of(asked)] for _, asked, _ in calls]

    def _reply(self, name: str, asked: dict, options: dict) -> dict:
        if kept := self.store.get(key_of(asked)):
            return kept
        bound = sum(len(m["content"].encode()) + 16 for m in asked["messages"]) + 16, options[self.api.limit_field]
        meter, pause = Meter(self, name, asked, bound), self.api.pause
        self._local.meter = meter
        try:
            while True:
                try:
                    return self._once(meter, options)
                except OutOfAttempts:
                    said = f"in {meter.sent} requests; last: {meter.last}"
                    raise GeoBenchError(f"{name}: no usable reply of `{self.spec.name}` {said}") from None
                except PASSING as error:
                    if getattr(error, "code", None) == "insufficient_quota":
                        raise GeoBenchError(f"{name}: `{self.spec.name}`: out of quota: {self._shown(error)}") from None
                    meter.last = self._shown(error)
                except (Unusable, ValueError, RecursionError) as error:
                    if isinstance(error, GeoBenchError):
                        raise
                    meter.last = self._shown(error)
                except openai.OpenAIError as error:
                    raise GeoBenchError(f"{name}: `{self.spec.name}` refused the request: {self._shown(error)}") from None
                time.sleep(min(pause, 60.0))
                pause *= 2
        finally:
            meter.close()

    def _once(self, meter: Meter, options: dict) -> dict:
        """One pass of the client with its own retries; the reply is in the store when this returns."""
        options = options | {"extra_body": self.api.body | options.get("extra_body", {})}
        raw = self._client.chat.completions.with_raw_response.create(
            model=self.spec.locator, messages=meter.asked["messages"], **options
        )
        body = json.loads(raw.http_response.content)
        usage = usage_of(body)
        try:
            name = meter.name if "logprobs" in options else None
            reply = read(body, self.spec.locator, self.api.answers_as, usage or meter.bound, name)
        except (Unusable, GeoBenchError):
            if usage:
                meter.billed(usage, None)
            raise
        meter.billed(usage, reply, servable(reply))
        return reply

    def _sending(self, request) -> None:
        self._pace.wait()
        self._local.meter.send()

    def _answered(self, response) -> None:
        self._pace.note(response.status_code, response.headers)
        if response.status_code >= 400:
            self._local.meter.last = f"HTTP {response.status_code}"
            self._local.meter.refused()

    def _shown(self, error: Exception) -> str:
        """An error as one line without the key."""
        text = f"{type(error).__name__} {came(error)}"
        return text if self._key == "none" else text.replace(self._key, "***")
