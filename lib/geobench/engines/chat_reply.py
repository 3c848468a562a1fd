"""A chat server's response -> what is kept of it: a whole answer of the model asked for, or `Unusable`."""

import re

from geobench.errors import GeoBenchError, came

FINISH = {"length": "length", "content_filter": "filtered"}  # everything else is "stop"
MOST = 10**12  # tokens of one reply; a server that says more says nothing
SURROGATE = re.compile(r"[\ud800-\udfff]")  # half a character, which no file can hold


class Unusable(Exception):
    """A whole response that is no answer."""


def usage_of(body) -> tuple[int, int] | None:
    """(tokens in, tokens out) as billed, or None where the server does not say."""
    usage = body.get("usage") if isinstance(body, dict) else None
    try:
        tokens = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return tokens if 0 <= min(tokens) and max(tokens) <= MOST else None


def read(body, model: str, aliases: list[str], tokens: tuple[int, int], first_tokens_of: str | None = None) -> dict:
    """Text, finish, answering model and tokens; with `first_tokens_of` (how errors call the prompt) the likeliest first tokens too.

    Half a character in the text becomes U+FFFD. The answering model is `model`, `model-YYYY-MM-DD` or one of `aliases`.
    """
    said, choices = (body.get("model"), body.get("choices")) if isinstance(body, dict) else (None, None)
    if not re.fullmatch(re.escape(model) + r"(-\d{4}-\d{2}-\d{2})?", str(said)) and said not in aliases:
        raise Unusable(f"expected a reply of {model}, got one of {came(said)}")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict) or not isinstance(message.get("content"), str | None):
        raise Unusable(f"expected a choice with a message, got {came(body)}")
    finish = "filtered" if message.get("refusal") else FINISH.get(choice.get("finish_reason"), "stop")
    text = SURROGATE.sub("\ufffd", message.get("content") or "").strip()
    reply = {"text": text, "finish": finish, "model": said}
    reply |= {"tokens_in": tokens[0], "tokens_out": tokens[1]}
    return reply | ({"logprobs": _listed(choice, model, first_tokens_of)} if first_tokens_of else {})


def servable(reply: dict) -> bool:
    """Whether the store may serve it: log-probabilities, or a text that ended by itself."""
    return bool(reply.get("logprobs")) or (reply["finish"] == "stop" and bool(reply["text"]))


def _listed(choice: dict, model: str, name: str) -> list[list]:
    try:
        return [[row["token"], float(row["logprob"])] for row in choice["logprobs"]["content"][0]["top_logprobs"]]
    except (KeyError, IndexError, TypeError):
        raise GeoBenchError(f"{name}: `{model}` was asked for log-probabilities and gave none; use a local model") from None
