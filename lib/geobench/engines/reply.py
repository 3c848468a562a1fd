"""What every engine is asked and answers."""

import re
from dataclasses import dataclass

Messages = list[dict]
THINKING = re.compile(
    r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)|\A.*</(?:think|thinking)>",  # the prompt may have opened it
    re.IGNORECASE | re.DOTALL,
)


def without_thinking(text: str) -> str:
    """What a reply says once a model's thinking is left out; nothing where the thinking was cut off."""
    return THINKING.sub("\n", text).strip()


@dataclass(frozen=True)
class Reply:
    """One generated text; `finish` is "stop" (end of turn), "length" (cut off) or "filtered" (withheld by a server); token counts."""

    text: str
    finish: str
    tokens_in: int
    tokens_out: int
