"""How much work the search track is, counted as geobench.workload counts.

Upper bounds, as in search.defences.cost; texts of the corpus are counted, chunks at their limit.
"""

from pathlib import Path

from geobench.search.corpus import CONDITIONS, SOURCES, load_instances, load_triples
from geobench.search.defences.cost import calls, count
from geobench.workload import Work, tokens

GATED = ("clean", "ip", "id")
STATES = 4  # of a training document: clean, IP, ID, control
PAGE = 1000  # tokens of a public page: an assumption
TRAINING = 3  # a backward pass counts as two forward ones


def search_work(p) -> list[Work]:
    """Gate and rewrites (11), search and answers (12), the guard (13) and defended answers (14)."""
    queries = count(p)
    rows = [Work(_notebook(r["work"]), r["model"], r["work"], r["calls"], r["in"], r["out"]) for r in calls(p, queries)]
    gated, texts = _tokens(p, queries)
    read = queries * len(CONDITIONS) * p.search_candidates * p.search_chunk_tokens
    trained = STATES * sum(tokens(triple.clean) for triple in load_triples())
    seen, texts = texts + read, len(GATED) * queries
    return [
        Work("11_search_data", p.reference_model, "gate", 2 * texts, 2 * gated),  # perplexity and naturalness
        *rows,
        Work("12_search_answers", p.search_encoder, "search", texts, seen),
        Work("13_guard", p.search_guard_encoder, "training of the guard", 1, trained * (TRAINING * p.search_guard_epochs + 1)),
    ]


def _tokens(p, queries: int) -> tuple[int, int]:
    """(of the gated texts, of all sources under all conditions); public pages, which are not here yet, count PAGE tokens each."""
    if p.search_corpus == "geo_bench":
        return len(GATED) * queries * PAGE, len(CONDITIONS) * SOURCES * queries * PAGE
    instances = load_instances(None if p.search_corpus == "embedded" else Path(p.search_corpus) / "instances.jsonl")[:queries]
    gated = sum(tokens(one.text(state)) for one in instances for state in GATED)
    return gated, sum(tokens(document.text) for one in instances for c in CONDITIONS for document in one.documents(c))


def _notebook(work: str) -> str:
    if work == "rewrites":
        return "11_search_data"
    return "14_defences" if "defences" in work or work.startswith("guard") else "12_search_answers"
