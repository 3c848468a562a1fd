"""What `api:` of a row in params/models.yaml says about an OpenAI-compatible server. Keys come from the environment alone."""

import json
import os
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from geobench.engines import row_settings
from geobench.errors import GeoBenchError

OWN = {
    "model", "messages", "stream", "n", "temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "logprobs", "top_logprobs",
    "chat_template_kwargs",
}  # fmt: skip


class Prices(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid")

    input: float = Field(ge=0)
    output: float = Field(ge=0)

    def dollars(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.input + tokens_out * self.output) / 1e6


class ApiSettings(BaseModel):
    """How to reach a server and how hard to try. Nothing but `body` determines a result."""

    model_config = ConfigDict(extra="forbid")

    base_url: str | None = None  # None: OPENAI_BASE_URL, else the client's own
    key_env: str | None = "OPENAI_API_KEY"  # the environment variable that holds the key; null: the server wants none
    prices: Prices | None = None
    context: int | None = Field(None, ge=1)  # tokens; None: not checked here
    top_logprobs: int = Field(0, ge=0, le=20)  # how many the server gives per token; 0: none
    answers_as: list[str] = []  # other names under which the server may answer
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    body: dict[str, JsonValue] = {}  # more of a request than OpenAI's API has, such as {repeat_penalty: 1.0}; part of the model's identity
    concurrency: int = Field(8, ge=1)  # requests in flight
    timeout: float = Field(60.0, gt=0)  # seconds per request
    retries: int = Field(4, ge=0)  # the client's own, with back-off
    attempts: int = Field(12, ge=1)  # requests per call in all
    pause: float = Field(1.0, ge=0)  # seconds before the first retry of ours; doubles, at most 60

    @field_validator("body")
    @classmethod
    def _leaves_the_benchmark_its_own(cls, body: dict) -> dict:
        if taken := sorted(OWN & body.keys()):
            raise ValueError(f"{', '.join(taken)}: set by the benchmark's own parameters")
        json.dumps(body, allow_nan=False)  # ValueError for what no request can hold
        return body


def settings(spec) -> ApiSettings:
    """The checked `api:` of a registry row."""
    return row_settings.read(ApiSettings, spec, "api")


def key(spec) -> str:
    """The API key of a model from its environment variable; GeoBenchError, naming the variable, where it is not set."""
    name = settings(spec).key_env
    if name is None:
        return "none"
    if not (found := os.environ.get(name, "").strip()):
        raise GeoBenchError(f"model `{spec.name}`: the environment variable {name} is not set; it holds the API key")
    return found
