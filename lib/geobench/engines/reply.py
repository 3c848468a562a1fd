"""What every engine is asked and answers."""

from dataclasses import dataclass

Messages = list[dict]


@dataclass(frozen=True)
class Reply:
    """One generated text; `finish` is "stop" (end of turn), "length" (cut off) or "filtered" (withheld by a server); token counts."""

    text: str
    finish: str
    tokens_in: int
    tokens_out: int
