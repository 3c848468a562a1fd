"""Victims: how an answer is made from a context. A victim is named `model:read-out`.

`generate`: a cited answer at temperature 0. `likelihood`: which of the paraphrased statements is likelier (search.likelihood); the
verbatim pair is recorded beside. `extractive`: the one sentence of the context most like the query, headings left out; no model writes.
"""

import re

from geobench.engines.reply import without_thinking
from geobench.errors import GeoBenchError, nearest
from geobench.models import open_model, spec
from geobench.prompts import prompt_sha
from geobench.search import context
from geobench.search.keys import sentences
from geobench.search.verdicts import margin_stance

READ_OUTS = ("generate", "likelihood", "extractive")
LEAST_WORDS = 5  # shorter lines are taken for headings or cells


def parse_victim(name: str) -> tuple[str, str]:
    """(model, read-out) of a victim's name; GeoBenchError with the nearest known one."""
    model, _, read_out = name.rpartition(":")
    if read_out not in READ_OUTS or not model:
        raise GeoBenchError(f"search_victims: expected MODEL:READ-OUT, got `{name}`.{nearest(read_out, READ_OUTS)}")
    if (spec(model).kind == "bi_encoder") != (read_out == "extractive"):
        raise GeoBenchError(f"search_victims: `{model}` is a {spec(model).kind}, which read-out `{read_out}` cannot use")
    if read_out == "likelihood" and not spec(model).gives.gradients:
        raise GeoBenchError(f"search_victims: `{name}` needs a local model, got one of engine `{spec(model).engine}`")
    return model, read_out


def identity(name: str, tokens: int) -> dict:
    """What determines a victim's answers, given its contexts."""
    model, read_out = parse_victim(name)
    shown = {**spec(model).identity(), "read_out": read_out}
    if read_out == "extractive":
        return shown | {"least_words": LEAST_WORDS}
    shown["prompt"] = prompt_sha("search_answer")
    return shown | ({"tokens": tokens} if read_out == "generate" else {"margin": "context minus prior, sums"})


def is_heading(line: str) -> bool:
    """Headings, table cells, labels and questions: what an extractive answer must not be."""
    bare = re.sub(r"^[\s>*#|\-\d.()]+|[\s*|]+$", "", line)
    marked = line.lstrip().startswith(("#", "|")) or bool(re.fullmatch(r"\*\*[^*]+\*\*", line.strip()))
    return marked or len(bare.split()) < LEAST_WORDS or bare.endswith((":", "?"))


def extract(query: str, shown: list[context.Passage], embeddings) -> dict:
    """The best sentence with its source cited; ties go to the earlier one."""
    found = [(p.number, re.sub(r"\*+", "", s)) for p in shown for s in sentences(p.text) if not is_heading(s)]
    if not found:
        return {"answer": "", "score": None}
    vectors = embeddings([query, *(s for _, s in found)])
    cosine = vectors[1:] @ vectors[0]
    best = max(range(len(found)), key=lambda i: (cosine[i], -i))
    return {"answer": f"{found[best][1]} [{found[best][0]}]", "score": float(cosine[best])}


def generate(engine, tasks: list[tuple[str, list]], tokens: int, names: list[str]) -> list[dict]:
    """One cited answer per (query, passages), without the model's thinking, with the validity of its citations."""
    from geobench.engines.decoding import Decoding

    replies = engine.generate([context.messages(q, shown) for q, shown in tasks], Decoding(tokens), names=names)
    rows = []
    for reply, (_, shown) in zip(replies, tasks):
        rows.append(answered(reply.text, len(shown)) | {"finish": reply.finish})
    return rows


def answered(reply: str, shown: int) -> dict:
    """What of a raw reply is the answer, and which of the shown sources it cites."""
    answer = without_thinking(reply)
    valid, invalid = context.citations(answer, shown)
    return {"answer": answer, "cited": valid, "cited_invalid": invalid, "shown": shown} | ({"raw": reply} if answer != reply else {})


def prefer(engine, instance, shown, prior: list[float] | None, what: str) -> dict:
    """Stance of the likelihood victim with all its margins: two paraphrased pairs and the verbatim one."""
    from geobench.search import likelihood

    pairs = [*zip(instance.false_paraphrases, instance.true_paraphrases), (instance.false_claim, instance.true_statement)]
    prior = prior or [round(m, 4) for m in likelihood.margins(engine, context.messages(instance.query, []), pairs, what)]
    raw = likelihood.margins(engine, context.messages(instance.query, shown), pairs, what)
    moved = [a - b for a, b in zip(raw, prior)]
    stance = margin_stance(moved[:-1])
    answer = {"false": instance.false_paraphrases[0], "true": instance.true_paraphrases[0], "hedged": ""}[stance]
    return {
        "answer": answer, "stance": stance, "stance_verbatim": margin_stance(moved[-1:]), "stance_raw": margin_stance(raw[:-1]),
        "margins": [round(m, 4) for m in moved], "margins_raw": [round(m, 4) for m in raw], "prior": prior,
    }  # fmt: skip


def open_victim(name: str, batch_size: int = 8):
    """(engine, read-out) of a victim."""
    model, read_out = parse_victim(name)
    return open_model(model, batch_size=batch_size) if read_out != "extractive" else open_model(model), read_out
