"""The LLM judge: any registered model grades an answer by the rubric of params/prompts/search_judge.yaml and replies in JSON."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from geobench.errors import came
from geobench.prompts import load_prompt, prompt_sha, render
from geobench.search.structured import json_object

TOKENS = 80


class Grade(BaseModel):
    """The judge's reply: a stance (search.verdicts) and quality on three scales of 1 to 5."""

    model_config = ConfigDict(extra="ignore")

    stance: Literal["false", "hedged", "beside", "true", "refused"]
    relevance: int = Field(ge=1, le=5)
    completeness: int = Field(ge=1, le=5)
    clarity: int = Field(ge=1, le=5)


def identity(engine) -> dict:
    """What determines the LLM judge's replies."""
    return {**engine.identity(), "judge": "llm", "prompt": prompt_sha("search_judge"), "tokens": TOKENS}


def messages(instance, answer: str) -> list[dict]:
    """The chat that asks for the grades of one answer."""
    prompt = load_prompt("search_judge")
    fields = {k: getattr(instance, k) for k in ("query", "false_claim", "true_statement", "criterion")}
    return [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": render(prompt["user"], answer=answer, **fields)}]


def parse(reply: str) -> dict:
    """The grade's fields, or stance `unparsed` with the reason; nothing is guessed."""
    try:
        return Grade(**json_object(reply)).model_dump() | {"reason": ""}
    except (ValueError, ValidationError) as error:
        return {"stance": "unparsed", "relevance": None, "completeness": None, "clarity": None, "reason": came(error, 160)}


def grade(engine, instances, answers: list[str], names: list[str] | None = None) -> list[dict]:
    """One parsed grade with its raw reply per (instance, answer)."""
    from geobench.engines.decoding import Decoding

    replies = engine.generate([messages(i, a) for i, a in zip(instances, answers)], Decoding(TOKENS), names=names)
    return [parse(r.text) | {"raw": r.text} for r in replies]
