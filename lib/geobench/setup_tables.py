"""Tables of what ran: data sets, settings out of the records' fingerprints, examples, parsing and compute."""

import difflib
import json
from pathlib import Path

from geobench.prompts import PROMPTS, load_prompt, prompt_sha
from geobench.ranking import read_ranks
from geobench.records import read_fingerprint, read_records
from geobench.variants import by_threat, method_of, model_of

SHOWN = 60  # words of an example


def datasets_table(selected):
    """Per data set: lists, items, targets, items per list, median words per description, first query nouns."""
    import pandas as pd

    rows = []
    for name in dict.fromkeys(s.list.dataset for s in selected):
        mine = [s for s in selected if s.list.dataset == name]
        words = pd.Series([len(item.description.split()) for s in mine for item in s.list.items])
        sizes = [len(s.list) for s in mine]
        span = str(sizes[0]) if len(set(sizes)) == 1 else f"{min(sizes)} to {max(sizes)}"
        nouns = ", ".join(s.list.noun for s in mine[:3]) + (", ..." if len(mine) > 3 else "")
        rows.append({"dataset": name, "lists": len(mine), "items": sum(sizes), "targets": sum(len(s.targets) for s in mine),
                     "items per list": span, "median words": float(words.median()), "query nouns": nouns})  # fmt: skip
    return pd.DataFrame(rows)


def settings_table(work):
    """One row per setting that the records' fingerprints state: which records, setting, value; equal values share a row."""
    import pandas as pd

    found = stated(work.folder, ("edits/*.jsonl", "ranks/*/clean.jsonl", "scores/*.jsonl"))
    rows = [
        {"records": kind, "setting": key, "value": value, "of": ", ".join(names)} for (kind, key, value), names in sorted(found.items())
    ]
    budget = {k: v for k, v in work.params.identity().items() if k not in ("released_dir", "external_edits")}
    rows += prompt_rows({value for _, _, value in found})
    rows += [{"records": "parameters", "setting": k, "value": _shown(v), "of": "the run"} for k, v in budget.items()]
    return pd.DataFrame(rows)


def stated(folder: Path, patterns: tuple[str, ...]) -> dict[tuple, list[str]]:
    """What the fingerprints of the records under the patterns state: (first folder, setting, value) -> names of the records."""
    found: dict[tuple, list[str]] = {}
    files = (f for pattern in patterns for f in Path(folder).glob(pattern) if f.name != "instances.jsonl")  # a corpus, no records
    for file in sorted(files):
        kind, *parts = file.relative_to(folder).with_suffix("").parts
        name = "/".join(part for part in parts if part != "clean")
        for key, value in _flat(read_fingerprint(file)):
            if key not in ("kind", "variant", "catalog", "texts", "corpus", "contexts"):
                found.setdefault((kind, key, value), []).append(name)
    return found


def prompt_rows(values: set) -> list[dict]:
    """Rows with every text of the prompts whose digests are among the values."""
    rows = []
    for name in sorted(f.stem for f in PROMPTS.glob("*.yaml") if prompt_sha(f.stem) in values):
        texts = {k: v for k, v in load_prompt(name).items() if k != "description"}
        rows += [{"records": "prompts", "setting": f"{name}.{k}", "value": v, "of": prompt_sha(name)} for k, v in _flat(texts)]
    return rows


def _flat(tree: dict, prefix: str = ""):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", _shown(value)


def _shown(value) -> str:
    if isinstance(value, list) and len(value) > 12:
        return f"{len(value)} entries, from {value[0]} to {value[-1]}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def changes(before: str, after: str) -> str:
    """Words of `after` with [-removed-] and {+added+} runs, as wdiff marks them."""
    a, b, out = before.split(), after.split(), []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            out += a[i:j] if j - i <= 12 else [*a[i : i + 5], "...", *a[j - 5 : j]]
            continue
        out += [f"[-{' '.join(a[i:j])}-]"] if j > i else []
        out += [f"{{+{' '.join(b[k:m])}+}}"] if m > k else []
    return " ".join(out)


def examples_table(work):
    """One text per variant: the first target of the run, with its changes; long texts are cut."""
    import pandas as pd

    items, rows = work.items(), []
    for variant, edits in work.edits().items():
        if edits:
            record = edits[0]
            task = items[(record["dataset"], record["list"], record["target"])]
            words = changes(task.item.description, record["text"]).split()
            text = " ".join(words[:SHOWN]) + (f" ... ({len(words) - SHOWN} more words)" if len(words) > SHOWN else "")
            rows.append({"variant": variant, "item": f"{task.list.key}: {task.item.name}", "text": text})
    return by_threat(pd.DataFrame(rows))


def unparsed_table(work):
    """Per ranker and variant (or clean lists): rankings, shares of each parse status, and `missing`, the share of rankings that leave the
    target out (of clean lists: of items left out); rankers without replies have one row."""
    import pandas as pd

    rows = []
    for ranker in work.params.rankers:
        clean, edited = read_ranks(work, ranker)
        groups = {"clean": clean} | {v: [r for r in edited if r["variant"] == v] for v in sorted({r["variant"] for r in edited})}
        status = {name: [s for r in records for s in r["status"] or ()] for name, records in groups.items()}
        if not any(status.values()):
            count = sum(len(r["orders"]) for r in (*clean, *edited))
            rows.append({"ranker": ranker, "variant": "all", "rankings": count, "ok": 1.0, "missing": 0.0})
            continue
        for name, seen in status.items():
            shares = {s: seen.count(s) / len(seen) for s in dict.fromkeys(seen)}
            row = {"ranker": ranker, "variant": name, "rankings": len(seen), "ok": shares.pop("ok", 0.0), "missing": _missing(groups[name])}
            rows.append(row | shares)
    return pd.DataFrame(rows).fillna(0.0)


def _missing(records: list[dict]) -> float:
    """Share of ranks that are L + 1. A record's ranks per order: the target's, or of a clean list those of all items."""
    ranked = [(row if isinstance(row, list) else [row], len(order)) for r in records for row, order in zip(r["ranks"], r["orders"])]
    left = [rank > size for ranks, size in ranked for rank in ranks]
    return sum(left) / len(left) if left else 0.0


def compute_table(work):
    """Per variant: targets edited, texts tried per target, and tokens run forward and backward per target where they were counted.
    Seconds are in the records (`edits/*.jsonl`): they differ from run to run, and tables do not."""
    import pandas as pd

    rows = []
    for file in sorted((work.folder / "edits").glob("*.jsonl")):
        edits = read_records(file)
        tried = [max(1, len(r.get("trace") or ())) for r in edits]
        counted = [r["tokens"] for r in edits if r.get("tokens")]
        tokens = {f"{k} tokens": sum(t[k] for t in counted) / len(counted) if counted else float("nan") for k in ("forward", "backward")}
        row = {"variant": file.stem, "method": method_of(file.stem), "model": model_of(file.stem) or "none", "targets": len(edits)}
        rows.append(row | {"texts per target": sum(tried) / max(1, len(tried))} | tokens)
    return by_threat(pd.DataFrame(rows))
