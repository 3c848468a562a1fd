"""One OpenAI-compatible server: each call is answered from the reply store, or asked for until a usable reply has come.

A fault that may pass is tried again, by the client's own retries and by ours with a doubling pause, inside a budget of requests and of
money; one that does not pass ends the call. The reply is in the store before it is returned.
"""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import openai

from geobench.engines import api
from geobench.engines.chat_reply import Unusable, read, servable, usage_of
from geobench.engines.meter import Meter, OutOfAttempts
from geobench.engines.pace import Pace
from geobench.errors import GeoBenchError, came
from geobench.replies import ReplyStore, key_of

PASSING = (openai.RateLimitError, openai.InternalServerError, openai.APIConnectionError, openai.ConflictError)
LONGEST = 60.0  # seconds between two of our own tries

Call = tuple[str, dict, dict]  # name of the unit, what determines the reply (its address in the store), the request's options


class Server:
    """The server of `spec.api`, with the keeper of its replies and of the run's money."""

    def __init__(self, spec, store: ReplyStore, budget):
        self.spec, self.api, self.store, self.budget = spec, api.settings(spec), store, budget
        self._key, self._pace, self._local = api.key(spec), Pace(), threading.local()
        http = openai.DefaultHttpxClient(event_hooks={"request": [self._sending], "response": [self._answered]})
        self._client = openai.OpenAI(
            api_key=self._key, base_url=self.api.base_url, timeout=self.api.timeout, max_retries=self.api.retries, http_client=http
        )

    def replies(self, calls: list[Call]) -> list[dict]:
        """The replies of all calls, in order, equal calls asked once; the first failure stops those that have not begun, and what came
        is kept. GeoBenchError, naming the unit, for a fault that does not pass."""
        first = {key_of(asked): (name, asked, options) for name, asked, options in reversed(calls)}
        with ThreadPoolExecutor(self.api.concurrency) as pool:
            found = dict(zip(first, pool.map(lambda call: self._reply(*call), first.values())))
        return [found[key_of(asked)] for _, asked, _ in calls]

    def _reply(self, name: str, asked: dict, options: dict) -> dict:
        if kept := self.store.get(key_of(asked)):
            return kept
        bound = sum(len(m["content"].encode()) + 16 for m in asked["messages"]) + 16, options[self.api.limit_field]
        with closing(Meter(self, name, asked, bound)) as meter:
            self._local.meter, pause = meter, self.api.pause
            while True:
                try:
                    return self._once(meter, options)
                except OutOfAttempts:
                    said = f"in {meter.sent} requests; last: {meter.last}"
                    raise GeoBenchError(f"{name}: no usable reply of `{self.spec.name}` {said}") from None
                except GeoBenchError:
                    raise
                except (openai.OpenAIError, Unusable, ValueError, RecursionError) as error:
                    meter.last = self._passing(name, error)
                time.sleep(min(pause, LONGEST))
                pause *= 2

    def _passing(self, name: str, error: Exception) -> str:
        """A fault that may pass, as one line; GeoBenchError for an empty account, or a request that the server refuses."""
        shown = self._shown(error)
        if getattr(error, "code", None) == "insufficient_quota":
            raise GeoBenchError(f"{name}: `{self.spec.name}`: out of quota: {shown}") from None
        if isinstance(error, openai.OpenAIError) and not isinstance(error, PASSING):
            raise GeoBenchError(f"{name}: `{self.spec.name}` refused the request: {shown}") from None
        return shown

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
