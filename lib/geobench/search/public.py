"""Public queries made into a corpus (`search_corpus: geo_bench`): rewrites, the quality gate, instances, and the guard's training part.

As the paper does: a query enters with the rewrites that pass the gate (a failed one is made again `search_gate_rounds` times with the
gate's reason), and the training part comes from the queries that did not enter: their ID text is made once more with the reason and
passes or is left out, and their IP text is not gated. `refused.jsonl` says of every query that did not enter why, `cleaned.jsonl`
which control characters were taken out of those that were read. Contested is unknown, and there are no keys and no control: verdicts need
an LLM judge.
"""

import json

from geobench.errors import GeoBenchError
from geobench.models import open_model
from geobench.progress import expect
from geobench.records import Records
from geobench.run import sha
from geobench.sampling import draw
from geobench.search import gate, geo_bench, rewriting
from geobench.search.corpus import Instance, Triple

GATED = ("ip", "id")


class Gate:
    """Measures texts once (`public_gate.jsonl`, key: name and text) and says why one does not pass."""

    def __init__(self, search, records):
        self.search, self.records = search, records
        self.limit = open_model(search.p.search_encoder).model.max_seq_length - 2

    def reason(self, query, condition: str, text: str) -> str:
        """Empty where the rewrite passes, else the weakest sub-score in words."""
        key = (query.name, condition, text)
        if key not in self.records.done:
            p, engine = self.search.p, open_model(self.search.p.reference_model)
            rows = [{"text": t, "name": f"{query.name} {c}"} for c, t in (("clean", original(query)), (condition, text))]
            clean, changed = gate.assess(rows, self.search.embeddings, engine, self.limit, p.perplexity_limit)
            parts = {k: round(v, 5) for k, v in gate.parts_of(changed, clean, condition).items()}
            self.records.append({"name": query.name, "condition": condition, "text": text, "parts": parts})
        return gate.reason(self.records.done[key]["parts"], self.search.p.search_gate_threshold)


def original(query) -> str:
    return query.sources[query.target - 1].text


def build(search) -> list[Instance]:
    """The instances of a run; writes refused.jsonl, cleaned.jsonl and training.jsonl. GeoBenchError where no query passes."""
    queries, refused = geo_bench.load(geo_bench.read_rows(search.p.search_folder))
    by_name = {q.name: q for q in queries}
    chosen = [by_name[n] for n in draw(by_name, search.p.search_rewrite_queries, search.p.seed, "public")]
    if not chosen:
        raise GeoBenchError("search_corpus geo_bench: no query to rewrite; set search_rewrite_queries to how many")
    instances, triples, failed = rewrite_all(search, chosen)
    search.folder.mkdir(parents=True, exist_ok=True)
    _write(search.folder / "refused.jsonl", [json.dumps(r) for r in refused + failed])
    _write(search.folder / "cleaned.jsonl", [json.dumps({"row": q.name, "removed": q.removed}) for q in queries if q.removed])
    _write(search.folder / "training.jsonl", [t.model_dump_json() for t in triples])
    if not instances:
        why = failed[0]["reason"] if failed else "none was rewritten"
        raise GeoBenchError(f"geo_bench: none of {len(chosen)} queries passed rewriting and the gate; first: {why} (search/refused.jsonl)")
    return instances


def rewrite_all(search, queries) -> tuple[list[Instance], list[Triple], list[dict]]:
    """(instances, training triples, {"row", "reason"} of every query that did not enter the instances)."""
    p, engine = search.p, open_model(search.p.search_rewriter)
    settings = p.search_rewrite_tokens, p.search_rewrite_retries, p.search_rewrite_template
    made = rewriting.identity(engine, *settings) | {"queries": _digest(queries)}
    models = {"encoder": open_model(p.search_encoder).identity(), "reference": open_model(p.reference_model).identity()}
    instances, triples, failed = [], [], []
    with (
        Records(search.folder / "public_rewrites.jsonl", made, ("name", "step")) as kept,
        Records(search.folder / "public_training.jsonl", made, ("name", "step")) as second,
        Records(search.folder / "public_gate.jsonl", models | {"limit": p.perplexity_limit}, ("name", "condition", "text")) as measured,
    ):
        judge = Gate(search, measured)
        expect({kept.path: len(queries) * len(rewriting.STEPS)})
        for query in queries:
            steps, reasons = improve(kept, engine, judge, query, settings, GATED, p.search_gate_rounds)
            if not reasons:
                instances.append(instance(query, steps))
                continue
            failed.append({"row": query.name, "reason": "; ".join(f"{step}: {why}" for step, why in reasons.items())})
            for row in steps.values():
                if second.key_of(row) not in second.done:
                    second.append(row)
            steps, reasons = improve(second, engine, judge, query, settings, ("id",), p.search_gate_rounds + 1)
            if not reasons and steps["ip"]["state"] == "ok":
                triples.append(triple(query, steps))
    search.embeddings.save()
    return instances, triples, failed


def improve(kept, engine, judge: Gate, query, settings: tuple[int, int, str], gated: tuple, rounds: int) -> tuple[dict, dict]:
    """(steps, {step: reason} of what still fails) after at most `rounds` rewrites by the gate's reason; resumable."""
    told: dict[str, str] = {}
    while True:
        steps = rewriting.rewrite(kept, engine, query.name, query.query, original(query), *settings, told)
        reasons = {step: f"no valid reply ({row['reasons'][-1]})" for step, row in steps.items() if row["state"] == "failed"}
        reasons = {s: why for s, why in reasons.items() if s in (*gated, "metadata")}
        if "metadata" in reasons:
            return steps, reasons
        told = {s: why for s in gated if s not in reasons and (why := judge.reason(query, s, steps[s]["result"]["text"]))}
        again = {s: why for s, why in told.items() if steps[s]["round"] < rounds}
        if not again:
            return steps, reasons | told
        told = again


def instance(query, steps: dict) -> Instance:
    """An evaluation instance from valid steps; an authority's address becomes a blog's under ID."""
    url = rewriting.ordinary_url(query.sources[query.target - 1].url, query.name)
    texts = {"ip_text": steps["ip"]["result"]["text"], "id_text": steps["id"]["result"]["text"], "id_url": url}
    return Instance(**_claims(query, steps), **texts, query=query.query, sources=query.sources, target=query.target, contested=None)


def triple(query, steps: dict) -> Triple:
    """A training document; no control, since nobody marked the claim's words."""
    claims = {k: v for k, v in _claims(query, steps).items() if k in Triple.model_fields}
    return Triple(**claims, clean=original(query), ip=steps["ip"]["result"]["text"], id=steps["id"]["result"]["text"])


def _claims(query, steps: dict) -> dict:
    said = {k: v[:2] if isinstance(v, list) else v for k, v in steps["metadata"]["result"].items()}
    return {"name": query.name, "topic": query.query, "categories": sorted(set(steps["id"]["result"]["categories"])), **said}


def _digest(queries) -> str:
    rows = sorted(f"{q.name}\n{q.query}\n{original(q)}" for q in queries)
    return sha("\n".join(rows))


def _write(file, lines: list[str]) -> None:
    file.write_text("".join(line + "\n" for line in lines), "utf-8")
