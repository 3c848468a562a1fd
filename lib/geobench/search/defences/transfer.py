"""Transfer at a fixed tau: texts from rewriters and templates that the detectors were not trained on, and the other track's edits.

Two mechanical ID templates are made here from an instance's clean text and its paraphrased false claim: `bare` puts the claim between
the sentences in plain words (a lie without style), `bulletin` puts it into a bulletin's form (style that training never showed).
`bulletin_true` is the same form with the true statement: what it costs to read style.
"""

import re

from geobench.errors import GeoBenchError

TEMPLATES = ("bare", "bulletin", "bulletin_true")


def insert(instance, template: str) -> str:
    """The instance's clean text under a template; GeoBenchError for an unknown one."""
    false, true, text = instance.false_paraphrases, instance.true_paraphrases, instance.clean_text
    if template == "bare":
        parts = re.split(r"(?<=[.!?])\s+", text)
        middle = len(parts) // 2
        return " ".join([*parts[:middle], false[0], *parts[middle:], false[1], instance.false_claim])
    if template in ("bulletin", "bulletin_true"):
        said = true if template == "bulletin_true" else false
        last = instance.true_statement if template == "bulletin_true" else instance.false_claim
        return f"READER BULLETIN no. 12. In brief: {said[0]}\n\n{text}\n\nConfirmed again this season: {said[1]} To sum up: {last}"
    raise GeoBenchError(f"transfer template: expected {', '.join(TEMPLATES)}, got `{template}`")


def transfer_documents(instances) -> list[dict]:
    """Rows of name, state (clean, ip, id, and the templates), text."""
    known = [{"name": i.name, "state": c, "text": i.text(c)} for i in instances for c in ("clean", "ip", "id")]
    return known + [{"name": i.name, "state": t, "text": insert(i, t)} for i in instances for t in TEMPLATES]


def rewritten_documents(search) -> list[dict]:
    """Rows of name, state, text of the run's own rewrites (notebook 11) that were valid; the state names step, model and template."""
    from geobench.search.quality import run_rewriting

    p = search.p
    by = p.search_rewriter + (" independent" if p.search_rewrite_template == "independent" else "")
    good = [r for r in run_rewriting(search) if r["state"] == "ok" and r["step"] in ("ip", "id")]
    return [{"name": r["name"], "state": f"{r['step']} by {by}", "text": r["result"]["text"]} for r in good]


def transfer_table(scores):
    """Share of documents with a blocked chunk, per detector (rows) and state (columns); scores of separation.document_scores."""
    wide = scores.assign(blocked=scores["blocked"] > 0).pivot_table(index="detector", columns="state", values="blocked", sort=False)
    return wide.reset_index().rename_axis(columns=None)


def edit_documents(work) -> list[dict]:
    """Texts of the ranking track's edits in this run, variants as states, with their originals; empty where the run has none."""
    if not sorted((work.folder / "edits").glob("*.jsonl")) or not (work.folder / "catalog.jsonl").exists():
        return []
    rows, tasks = [], work.items()
    for variant, records in work.edits().items():
        for record in records:
            key = (record["dataset"], record["list"], record["target"])
            rows.append({"name": "/".join(map(str, key)), "state": variant, "text": record["text"]})
    names = {r["name"]: None for r in rows}
    originals = [
        {"name": n, "state": "original", "text": tasks[k].item.description} for k in tasks if (n := "/".join(map(str, k))) in names
    ]
    return originals + rows


def other_track_scores(engine, documents: list[dict], limit: int = 2048):
    """The ranking track's detectors on documents: keyword hits, perplexity, judge's log-odds; a row per detector and document."""
    import pandas as pd

    from geobench.detectors import judge, keywords, perplexity

    texts, names = [d["text"] for d in documents], [f"{d['name']} {d['state']}" for d in documents]
    lexicon = keywords.load_lexicon()
    columns = {
        "keywords": [float(len(keywords.matches(t, lexicon))) for t in texts],
        "perplexity": [r["score"] for r in perplexity.score(engine, texts, limit, names)],
        "judge": [r["score"] for r in judge.score(engine, texts, names)],
    }
    rows = [
        {"detector": k, "name": d["name"], "state": d["state"], "score": s}
        for k, values in columns.items()
        for d, s in zip(documents, values)
    ]
    return pd.DataFrame(rows)
