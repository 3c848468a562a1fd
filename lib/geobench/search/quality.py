"""The gate and the rewriting pipeline over a run's instances: measures and replies as records, tables made from them."""

from pathlib import Path

from geobench.detectors import judge as yes_no
from geobench.errors import GeoBenchError
from geobench.models import open_model
from geobench.progress import expect
from geobench.prompts import prompt_sha
from geobench.records import Records, read_records
from geobench.search import gate, rewriting
from geobench.search.corpus import corpus_sha
from geobench.search.pipeline import SearchRun

TEXTS = ("clean", "ip", "id")


def measure(search: SearchRun) -> list[dict]:
    """Quality records of every instance's IP and ID text: the four sub-scores, Q, pass and the reason of a failure."""
    p, instances = search.p, search.instances
    limit = open_model(p.search_encoder).model.max_seq_length - 2
    identity = {
        "corpus": corpus_sha(instances), "encoder": open_model(p.search_encoder).identity(),
        "reference": open_model(p.reference_model).identity(),
        "prompt": prompt_sha("search_naturalness"), "limit": p.perplexity_limit, "answers": [yes_no.YES, yes_no.NO],
    }  # fmt: skip
    with Records(search.folder / "gate.jsonl", identity, ("name",)) as records:
        expect({records.path: len(instances)})
        for one in instances:
            if (one.name,) not in records.done:
                rows = [{"text": one.text(c), "name": f"{one.name} {c}"} for c in TEXTS]
                found = dict(zip(TEXTS, gate.assess(rows, search.embeddings, open_model(p.reference_model), limit, p.perplexity_limit)))
                records.append({"name": one.name} | {c: _parts(found, c) for c in ("ip", "id")})
    search.embeddings.save()
    return quality_rows(search)


def _parts(found: dict, condition: str) -> dict:
    parts = gate.parts_of(found[condition], found["clean"], condition)
    raw = {
        "cosine": float(found[condition]["vector"] @ found["clean"]["vector"]), "words": found[condition]["words"],
        "perplexity_ratio": found[condition]["perplexity"] / found["clean"]["perplexity"],
        "log_odds": found[condition]["log_odds"] - found["clean"]["log_odds"],
    }  # fmt: skip
    return {k: round(v, 5) for k, v in (parts | raw).items()}


def quality_rows(search: SearchRun) -> list[dict]:
    """One row per instance and condition, with Q and verdict under the run's threshold; of public queries those that did not enter too."""
    if search.p.search_corpus == "geo_bench":
        return _public_rows(search)
    names, rows, file = {i.name for i in search.instances}, [], search.folder / "gate.jsonl"
    if not file.exists():
        raise GeoBenchError(f"no gate measures in {search.folder}: run notebook 11_search_data first (./run_all.sh --only 11_search_data)")
    for record in read_records(file):
        for condition in ("ip", "id") if record["name"] in names else ():
            parts = record[condition]
            q, why = gate.quality(parts), gate.reason(parts, search.p.search_gate_threshold)
            rows.append({"name": record["name"], "condition": condition, **parts, "quality": q, "passed": not why, "reason": why})
    return rows


def _public_rows(search: SearchRun) -> list[dict]:
    """One row per rewritten public query and condition: the last rewrite that it was judged by; a step without a valid reply, or that was
    never reached, has sub-scores of 0."""
    threshold = search.p.search_gate_threshold
    steps = {(r["name"], r["step"]): r for r in read_records(search.folder / "public_rewrites.jsonl")}
    measured = {(r["name"], r["condition"], r["text"]): r["parts"] for r in read_records(search.folder / "public_gate.jsonl")}
    rows = []
    for name in dict.fromkeys(name for name, _ in steps):
        for condition in ("ip", "id"):
            step = steps.get((name, condition))
            parts = measured.get((name, condition, step["result"]["text"])) if step and step["state"] == "ok" else None
            why = gate.reason(parts, threshold) if parts else "reply: none that is valid"
            parts = parts or dict.fromkeys(gate.PARTS, 0.0)
            rows.append({"name": name, "condition": condition, **parts, "quality": gate.quality(parts), "passed": not why, "reason": why})
    return rows


def pass_table(rows: list[dict], threshold: float):
    """Mean sub-scores, mean Q and pass rate per condition, and the share of queries that pass both."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    frame["passed"] = frame["quality"] >= threshold
    table = frame.groupby("condition", sort=False)[[*gate.PARTS, "quality", "passed"]].mean().reset_index()
    table.insert(1, "n", frame.groupby("condition", sort=False)["name"].count().to_numpy())
    both = frame.groupby("name")["passed"].all()
    return pd.concat([table, pd.DataFrame([{"condition": "both", "n": len(both), "passed": both.mean()}])], ignore_index=True)


def sensitivity_table(rows: list[dict], levels: list[float]):
    """Pass rates per condition and joint at each threshold."""
    import pandas as pd

    tables = [pass_table(rows, level).set_index("condition")["passed"].rename(level) for level in levels]
    return pd.DataFrame(tables).reset_index(names="threshold")


def reason_table(rows: list[dict]):
    """How many texts fail per condition and weakest sub-score."""
    import pandas as pd

    frame = pd.DataFrame([{"condition": r["condition"], "weakest": r["reason"].split(" ")[0] or "passed"} for r in rows])
    return frame.value_counts(sort=False).rename("texts").reset_index().sort_values(["condition", "weakest"], ignore_index=True)


def run_rewriting(search: SearchRun) -> list[dict]:
    """The pipeline on the run's first queries; one record per query and step, the last round's (`geo_bench`: what made the corpus)."""
    p, template = search.p, search.p.search_rewrite_template
    if p.search_corpus == "geo_bench":
        return _latest(search.folder / "public_rewrites.jsonl")
    chosen = search.instances[: p.search_rewrite_queries]
    if not chosen:
        return []
    engine = open_model(p.search_rewriter, batch_size=p.batch_size)
    identity = rewriting.identity(engine, p.search_rewrite_tokens, p.search_rewrite_retries, template) | {"corpus": corpus_sha(chosen)}
    name = "rewrites.jsonl" if template == "main" else f"rewrites_{template}.jsonl"
    with Records(search.folder / name, identity, ("name", "step")) as records:
        expect({records.path: len(chosen) * len(rewriting.STEPS)})
        for one in chosen:
            rewriting.rewrite(
                records, engine, one.name, one.query, one.clean_text, p.search_rewrite_tokens, p.search_rewrite_retries, template
            )
    return _latest(search.folder / name)


def _latest(file: Path) -> list[dict]:
    """The records of rewrites that count: a later round supersedes an earlier one."""
    return list({(row["name"], row["step"]): row for row in read_records(file)}.values())
