"""How well detectors tell ID texts from clean and IP ones: AUC with intervals over topics, ROC points, the truth-swapped control.

A document's score is the largest of its chunks'. Documents of one topic (clean, IP, ID of one query or triple) go together.
"""

import numpy as np

from geobench.auroc_bootstrap import residuals
from geobench.errors import GeoBenchError
from geobench.resampling import resample_counts
from geobench.search.chunking import chunk
from geobench.search.defences.base import threshold
from geobench.search.defences.guard_run import GuardRun, scores_of, untrained
from geobench.stats import PERCENTILES, require_inference
from geobench.welch import interval

HARMLESS = ("clean", "ip")


def document_scores(run: GuardRun, detectors: dict, documents: list[dict]):
    """pandas frame: detector, name, state, score (largest over chunks), chunks; documents: rows of name, state, text."""
    import pandas as pd

    p, tokenizer = run.p, run.encoder.model.tokenizer
    cut = [[c.text for c in chunk(d["text"], tokenizer, p.search_chunk_tokens, p.search_chunk_overlap)] for d in documents]
    rows = []
    for name, detector in detectors.items():
        flat = scores_of(detector, [t for texts in cut for t in texts])
        ends = np.cumsum([len(texts) for texts in cut])
        parts = np.split(flat, ends[:-1])
        for document, part in zip(documents, parts):
            blocked = int((part >= detector.tau).sum())
            row = {"detector": name, "name": document["name"], "state": document["state"], "score": float(part.max())}
            rows.append(row | {"chunks": len(part), "blocked": blocked})
    return pd.DataFrame(rows)


def auc(positive: dict[str, float], negative: dict[str, float], resamples: int = 10_000, seed: int = 0, inference: str = "t") -> dict:
    """{"auc", "lo", "hi", "n"}: chance that an ID document scores above a harmless one, ties half; interval over topics, within 0 and 1.

    positive, negative: topic -> score. GeoBenchError unless both have the same topics.
    """
    if set(positive) != set(negative) or not positive:
        raise GeoBenchError(f"AUC: expected the same topics on both sides, got {len(positive)} and {len(negative)}")
    names = sorted(positive)
    high, low = (np.array([side[n] for n in names]) for side in (positive, negative))
    wins = np.sign(high[:, None] - low[None, :]) / 2 + 0.5
    row = {"auc": float(wins.mean()), "lo": np.nan, "hi": np.nan, "n": len(names)}
    if len(names) > 1:
        row["lo"], row["hi"] = np.clip(_ends([wins], row["auc"], resamples, seed, inference), 0, 1).tolist()
    return row


def _ends(wins: list[np.ndarray], mean: float, resamples: int, seed: int, inference: str) -> tuple[float, float]:
    """Ends of the interval of an AUC, or of the first one minus the second on the same topics. wins: topics x topics each."""
    require_inference(inference)
    sizes, signs = {"search": len(wins[0])}, (1, -1)
    if inference == "t":
        return interval(mean, sum(s * residuals(w, np.ones(len(w))) for s, w in zip(signs, wins)), sizes)[:2]
    counts = resample_counts(sizes, resamples, seed).astype(float)
    drawn = sum(s * ((counts @ w) * counts).sum(axis=1) / len(w) ** 2 for s, w in zip(signs, wins))
    return tuple(np.percentile(drawn, PERCENTILES))


def auc_table(scores, resamples: int = 10_000, seed: int = 0, inference: str = "t"):
    """AUC of ID against clean and against IP per detector, with 95 % intervals over topics."""
    import pandas as pd

    rows = []
    for detector, part in scores.groupby("detector", sort=False):
        wide = part.pivot(index="name", columns="state", values="score")
        for state in HARMLESS:
            both = wide[["id", state]].dropna()
            found = auc(dict(both["id"]), dict(both[state]), resamples, seed, inference)
            rows.append({"detector": detector, "test": f"id vs {state}"} | found)
    return pd.DataFrame(rows)


def difference_table(scores, other: str = "frozen", name: str = "guard", resamples: int = 10_000, seed: int = 0, inference: str = "t"):
    """Paired difference of the AUC of `name` and another detector, on the same topics."""
    import pandas as pd

    rows = []
    for state in HARMLESS:
        wins = []
        for detector in (name, other):
            wide = scores[scores.detector == detector].pivot(index="name", columns="state", values="score").sort_index()
            wins.append(np.sign(wide["id"].to_numpy()[:, None] - wide[state].to_numpy()[None, :]) / 2 + 0.5)
        mean = wins[0].mean() - wins[1].mean()
        lo, hi = _ends(wins, mean, resamples, seed, inference)
        rows.append({"test": f"id vs {state}", "difference": mean, "lo": lo, "hi": hi, "against": other})
    return pd.DataFrame(rows)


def block_table(scores):
    """Share of chunks, and of documents with a blocked chunk, per detector and state at its tau."""
    table = scores.assign(document=scores["blocked"] > 0).groupby(["detector", "state"], sort=False)
    sums = table[["chunks", "blocked"]].sum()
    made = sums.assign(chunk_rate=sums["blocked"] / sums["chunks"], document_rate=table["document"].mean()).reset_index()
    return made.rename(columns={"blocked": "blocked_chunks"})


def control_lines(blocks) -> list[str]:
    """One sentence per detector of a block_table: how often documents of each state are blocked, and what the truth-swapped control
    (the ID text made true) says about it. Public corpora have no control."""
    rates = blocks.pivot(index="detector", columns="state", values="document_rate").reindex(columns=["id", "control", "ip"])
    return [f"{r.Index}: blocks ID {_rate(r.id)}, control {_rate(r.control)}, IP {_rate(r.ip)}: {_found(r)}" for r in rates.itertuples()]


def _rate(value: float) -> str:
    return "(none here)" if np.isnan(value) else f"{value:.0%}"


def _found(row) -> str:
    if not row.id > 0:
        return "it blocks no ID document, so nothing can be said"
    if np.isnan(row.control):
        return "without a control, style and truth cannot be told apart"
    if row.control >= row.id:
        return "the true version is blocked at least as often as the false one, so it reads style, not truth"
    if row.control > 0:
        return f"the true version is blocked {row.control / row.id:.2f} times as often as the false one, so part of what it reads is style"
    return "no true version is blocked"


def instance_documents(instances) -> list[dict]:
    """Rows of name, state, text of the evaluation targets."""
    return [{"name": i.name, "state": c, "text": i.text(c)} for i in instances for c in ("clean", "ip", "id")]


def triple_documents(triples) -> list[dict]:
    """Rows of name, state, text of training documents, the truth-swapped control among them where there is one."""
    states = ("clean", "ip", "id", "control")
    return [{"name": t.name, "state": s, "text": getattr(t, s)} for t in triples for s in states if getattr(t, s) is not None]


def fold_scores(run: GuardRun):
    """Document scores of the training part, by detectors that never saw the topic (the guard: where the run says so)."""
    import pandas as pd

    from geobench.search.defences import guard, training
    from geobench.search.defences.guard_run import LEARNT, fresh
    from geobench.search.defences.pool import folds, split

    made = []
    for seen, left in folds(run.triples, run.p.search_guard_folds, run.p.seed):
        learn, calibrate = split(seen, run.p.search_guard_holdout, run.p.seed)  # tau from topics that trained nothing either
        rows = run.parts(learn, LEARNT)
        detectors = untrained(run.frozen, rows, run.near, run.p.seed)
        if run.p.search_guard_fold_training:
            model = fresh(run.p.search_guard_encoder)
            training.train(model, rows, run.near, run.settings())
            detectors = {"guard": guard.Guard(model, guard.fit(model, rows, run.near), 0.0)} | detectors
        harmless = [r.text for r in run.parts(calibrate, HARMLESS)]
        for detector in detectors.values():
            detector.tau = threshold(scores_of(detector, harmless), run.p.search_guard_fpr)
        made.append(document_scores(run, detectors, triple_documents(left)))
    return pd.concat(made, ignore_index=True)


def tau_table(scores, detector: str, points: int = 13):
    """Share of documents at or above each tau, per state; taus are evenly spaced over the detector's scores."""
    import pandas as pd

    part = scores[scores.detector == detector]
    taus = np.linspace(part["score"].min(), part["score"].max(), points)
    return pd.DataFrame([{"tau": t, **{s: float((g["score"] >= t).mean()) for s, g in part.groupby("state", sort=False)}} for t in taus])
