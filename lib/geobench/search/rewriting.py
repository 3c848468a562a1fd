"""The rewriting pipeline: metadata, then an IP and an ID rewrite of a query's target, by any registered model.

Every step asks for JSON, validates it, and asks again with the reason where it fails; what still fails is recorded as `failed` with
its reasons and raw replies, and nothing later is made from it. Steps are records, so that a killed run resumes at the next one.
A rewrite that the gate refused is made again by passing the gate's reason (`reasons`).
"""

import re
from typing import get_args
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, ValidationError

from geobench.engines.decoding import Decoding
from geobench.errors import DoesNotFit, GeoBenchError, came
from geobench.prompts import load_prompt, prompt_sha, render
from geobench.search.corpus import Category, Printable
from geobench.search.structured import json_object

STEPS = ("metadata", "ip", "id")
CATEGORIES = get_args(Category)
AUTHORITY = re.compile(r"(^|\.)(wikipedia|gov|edu|ac|mil|europa|who|un)(\.|$)", re.IGNORECASE)
CLAIM_SHARE = 0.6  # share of the claim's content words that a sentence must hold to count as stating it
CLAIM_TIMES = 3
_STOP = set("a an the is are was were be been of to in on at for and or with by from it its that this as should must each every".split())


class Metadata(Printable):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)
    false_claim: str = Field(min_length=10)
    true_statement: str = Field(min_length=10)
    false_paraphrases: list[str] = Field(min_length=2)
    true_paraphrases: list[str] = Field(min_length=2)
    criterion: str = Field(min_length=10)


class Rewrite(Printable):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)
    text: str = Field(min_length=100)
    categories: list[Category] = []


def ordinary_url(url: str, name: str) -> str:
    """Addresses of authorities (Wikipedia, .gov, .edu and the like) become a blog's; others stay."""
    parts = urlsplit(url)
    if not AUTHORITY.search(parts.hostname or ""):
        return url
    return f"https://{name.replace('_', '-')}-blog.example.com{parts.path or '/'}"


def claim_sentences(text: str, claim: str) -> int:
    """How many sentences hold at least 60 % of the claim's content words."""
    from geobench.search.keys import normalise, sentences

    wanted = {w for w in re.findall(r"\w+", normalise(claim)) if w not in _STOP}
    shares = [len(wanted & set(re.findall(r"\w+", normalise(s)))) / max(1, len(wanted)) for s in sentences(text)]
    return sum(share >= CLAIM_SHARE for share in shares)


def check(step: str, reply: str, claim: str = "", original: str = "", template: str = "main") -> dict:
    """The validated content of a reply; GeoBenchError with what was wrong, as the model will be told. The independent template asks for no
    categories and no number of places."""
    try:
        found = (Metadata if step == "metadata" else Rewrite)(**json_object(reply)).model_dump()
    except ValidationError as error:
        first = error.errors()[0]
        raise GeoBenchError(f"field {'.'.join(map(str, first['loc']))}: {first['msg']}, got {came(first['input'], 80)}") from error
    if step == "metadata":
        if found["false_claim"].lower() == found["true_statement"].lower():
            raise GeoBenchError("false_claim and true_statement are the same")
        return found
    if " ".join(found["text"].split()) == " ".join(original.split()):
        raise GeoBenchError("the text is the same as the original")
    if step != "id" or template == "independent":
        return found
    if (times := claim_sentences(found["text"], claim)) < CLAIM_TIMES:
        raise GeoBenchError(f"the statement F stands in {times} places, expected at least {CLAIM_TIMES}")
    if not found["categories"]:
        raise GeoBenchError(f"categories is empty; choose among {', '.join(CATEGORIES)}")
    return found


def identity(engine, tokens: int, retries: int, template: str = "main") -> dict:
    return {**engine.identity(), "prompt": prompt_sha("search_rewrite"), "tokens": tokens, "retries": retries, "template": template}


def ask(engine, step: str, fields: dict, tokens: int, retries: int, template: str = "main", reason: str = "") -> dict:
    """One step: {"state": ok|failed, "result", "reasons", "raw"}; the reason of a failure goes into the next attempt.

    A prompt that does not fit the model's context fails at once."""
    prompt = load_prompt("search_rewrite")["independent" if step == "id" and template == "independent" else step]
    reasons, raw = [], []
    for attempt in range(retries + 1):
        told = f"\n\nA former attempt was refused: {reason}. Mend this." if reason else ""
        user = render(prompt["user"], reason=told, categories=", ".join(CATEGORIES), **fields)
        messages = [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": user}]
        decoding = Decoding(tokens, temperature=0.0 if attempt == 0 else 0.7, top_p=0.95)
        try:
            reply = engine.generate([messages], decoding, [attempt], [f"{fields['query'][:40]} {step}"])[0]
        except DoesNotFit as error:
            reasons.append(str(error))
            break
        raw.append(reply.text)
        try:
            result = check(step, reply.text, fields.get("false_claim", ""), fields["text"], template)
            return {"state": "ok", "result": result, "reasons": reasons, "raw": raw}
        except GeoBenchError as error:
            reason = ("the reply was cut off; " if reply.finish == "length" else "") + str(error)
            reasons.append(reason)
    return {"state": "failed", "result": None, "reasons": reasons, "raw": raw}


def rewrite(
    records, engine, name: str, query: str, text: str, tokens: int, retries: int, template: str = "main", reasons: dict | None = None
) -> dict:
    """All steps of one query into `records` (key: name, step); returns {step: record}. `reasons` names steps to make again and why
    (`round` counts these)."""
    done, reasons = {}, reasons or {}
    for step in STEPS:
        kept = records.done.get((name, step))
        if kept is None or step in reasons:
            fields = {"query": query, "text": text} | ((done.get("metadata") or {}).get("result") or {})
            row = ask(engine, step, fields, tokens, retries, template, reasons.get(step, ""))
            kept = {"name": name, "step": step, "round": kept["round"] + 1 if kept else 0} | row
            records.append(kept)
        done[step] = kept
        if kept["state"] == "failed" and step == "metadata":
            break
    return done
