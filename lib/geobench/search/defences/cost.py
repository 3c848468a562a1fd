"""What notebooks 11 to 15 would cost: calls, tokens, GPU memory and hours, counted without loading a model.

Contexts are taken as full (`search_top` chunks of `search_chunk_tokens`), and every defence as changing every context, so these are upper
bounds. Hours assume THROUGHPUT tokens a second of one model; a price is given per GPU hour, which `HOUR` states.
"""

from pathlib import Path

from geobench.engines.api import settings
from geobench.models import spec
from geobench.search.corpus import CONDITIONS, SOURCES, load_instances

THROUGHPUT = 3000  # prompt and answer tokens a second of a batched engine on one node; an assumption, not a measurement
HOUR = 3.0  # dollars per GPU hour, an assumption
PUBLIC = 1000  # test queries of GEO-bench
WORDS = 60  # tokens of instructions around a context


def calls(p, instances: int) -> list[dict]:
    """Rows of work: model, calls, tokens in, tokens out."""
    contexts, shown = instances * len(CONDITIONS), p.search_top * p.search_chunk_tokens
    rows = []

    def add(work: str, model: str, count: int, tokens_in: int, tokens_out: int) -> None:
        rows.append({"work": work, "model": model, "calls": count, "in": count * tokens_in, "out": count * tokens_out})

    if queries := public_queries(p) if p.search_corpus == "geo_bench" else min(instances, p.search_rewrite_queries or 0):
        steps = 4 + 2 * p.search_gate_rounds if p.search_corpus == "geo_bench" else 3  # metadata, IP, ID; public: one more ID to train on
        add("rewrites", p.search_rewriter, steps * queries, p.search_rewrite_tokens, p.search_rewrite_tokens)
    for victim in p.search_victims:
        model, _, read_out = victim.rpartition(":")
        if read_out != "extractive":
            add(f"answers of {victim}", model, contexts, shown + WORDS, p.search_answer_tokens)
    for victim in p.search_defence_victims or p.search_victims:
        model, _, read_out = victim.rpartition(":")
        if read_out != "extractive":
            add(f"answers of {victim} under defences", model, contexts * len(p.search_defences), shown + WORDS, p.search_answer_tokens)
    seen = min(instances, p.search_guard_instances or instances) * len(CONDITIONS)
    for kind, model in p.search_guard_models.items():
        count, size = (seen, shown) if kind == "nemo" else (seen * p.search_top, p.search_chunk_tokens)
        add(f"guard {kind}", model, count, size + WORDS, 48)
    if p.search_judge:
        add("judge", p.search_judge, _judged(p, contexts), p.search_answer_tokens + 5 * WORDS, WORDS)
    return rows


def public_queries(p) -> int:
    """How many public queries the pipeline rewrites at most."""
    return PUBLIC if p.search_rewrite_queries is None else p.search_rewrite_queries


def count(p) -> int:
    """Queries that notebook 12 answers; of public ones at most as many as are rewritten, since the gate has not spoken yet."""
    if p.search_corpus == "geo_bench":
        return min(p.search_instances or PUBLIC, public_queries(p))
    known = len(load_instances(None if p.search_corpus == "embedded" else Path(p.search_corpus) / "instances.jsonl"))
    return min(p.search_instances or known, known)


def _judged(p, contexts: int) -> int:
    """Grades: a sample of the written answers, or all of them, those under defences too, where the queries have no keys."""
    written = [v for v in p.search_victims if not v.endswith(":likelihood")]
    if p.search_corpus != "geo_bench":
        return min(contexts * len(written), p.search_judge_answers or contexts * len(written))
    defended = [v for v in p.search_defence_victims or p.search_victims if v in written]
    return contexts * (len(written) + len(p.search_defences) * len(defended))


def memory(model: str) -> float:
    """GiB of weights: parameters (models.yaml, in billions) at the registry's width; nan where it does not say, and for embedded
    models, which need no GPU."""
    row = spec(model)
    if row.source == "wheel":
        return float("nan")
    width = 4 if row.dtype == "float32" else 2
    return (row.parameters or float("nan")) * 1e9 * width / 2**30


def estimate(p, instances: int) -> list[str]:
    """Lines for --dry-run."""
    rows = calls(p, instances)
    most = "at most " if p.search_corpus == "geo_bench" else ""
    lines = [f"search track: {most}{instances} queries with {SOURCES} sources under {len(CONDITIONS)} conditions"]
    for row in rows:
        lines.append(f"  {row['work']}: {row['calls']} calls of {row['model']}, at most {row['in'] + row['out']:,} tokens")
    sizes = {r["model"]: memory(r["model"]) for r in rows}
    for model in sizes:
        if spec(model).gives.served and (prices := settings(spec(model)).prices):
            mine = [r for r in rows if r["model"] == model]
            lines.append(f"  {model}: at most {prices.dollars(sum(r['in'] for r in mine), sum(r['out'] for r in mine)):.2f} dollars")
    for model, size in sizes.items():
        if size == size:
            lines.append(f"  {model}: {size:.0f} GiB of GPU memory for its weights, a third more while it runs")
    hours = sum((r["in"] + r["out"]) / THROUGHPUT for r in rows if sizes[r["model"]] == sizes[r["model"]]) / 3600
    if hours:
        lines.append(f"  about {hours:.0f} GPU hours at {THROUGHPUT} tokens a second, {hours * HOUR:.0f} dollars at {HOUR:.0f} an hour")
    return lines
