"""Structured output: the JSON object in a model's reply, whatever stands around it."""

import json
import re

from geobench.engines.reply import without_thinking
from geobench.errors import GeoBenchError, came


def json_object(reply: str) -> dict:
    """The first complete JSON object of a reply (code fences and thinking are skipped); GeoBenchError where there is none, as where the
    thinking was cut off."""
    text = reply if reply.lstrip().startswith("{") else without_thinking(reply)
    decoder = json.JSONDecoder(strict=False)
    for match in re.finditer(r"\{", text):
        try:
            found, _ = decoder.raw_decode(text, match.start())
        except ValueError:
            continue
        except RecursionError:  # nested without end: an object inside it is not the one that was meant
            break
        if isinstance(found, dict) and found:
            return found
    raise GeoBenchError(f"expected a JSON object, got {came(reply)}")
