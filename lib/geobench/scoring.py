"""Fill and read a run's detector scores: each original once, then every variant's edits."""

import warnings
from functools import partial

from geobench import catalog
from geobench.executors.units import run_units
from geobench.progress import expect
from geobench.records import UNIT, Records, read_fingerprint, read_records, sound
from geobench.run import Run, sha, unit

KEY = (*UNIT, "variant")
DETECTORS = ("keyword", "perplexity", "judge", "trained")


def texts(run: Run) -> list[dict]:
    """Every text that detectors score, with its unit and variant (`original` for an unedited description)."""
    items, edits = run.items(), run.edits()
    wanted = dict.fromkeys([*(t.key() for t in run.tasks), *(unit(r) for rows in edits.values() for r in rows)])
    first = [dict(zip(UNIT, key)) | {"variant": "original", "text": items[key].item.description} for key in wanted]
    return first + [dict(zip(UNIT, unit(r))) | {"variant": v, "text": r["text"]} for v, rows in edits.items() for r in rows]


def score_all(run: Run, detector: str, identity: dict, work, models=()) -> None:
    """Score every text with a detector; `work(texts, names)` yields one dict with "score" per text. Finished ones are kept.

    models: names of the models that `work` opens; with one, `work` may be done elsewhere (executors.units.run_units).
    """
    shown = {"kind": "scores", "detector": identity, "catalog": catalog.catalog_sha(run.selected)}
    rows = texts(run)
    expect({run.folder / "scores" / f"{name}.jsonl": len(rows) for name in (detector, *DETECTORS)})
    with Records(run.folder / "scores" / f"{detector}.jsonl", shown, KEY, ("text_sha",)) as records:
        todo = [t for t in rows if records.done.get(records.key_of(t), {}).get("text_sha") != sha(t["text"])]
        scored = run_units(run.params, partial(_scores, work), todo, models, lambda t: ((t["dataset"], t["list"]), t["target"]))
        for text, result, _ in scored:
            records.append({k: text[k] for k in KEY} | {"text_sha": sha(text["text"])} | result)


def _scores(work, rows: list[dict]):
    return work([t["text"] for t in rows], [f"{t['dataset']}/{t['list']} item {t['target']}, {t['variant']}" for t in rows])


def read_scores(run: Run, detector: str):
    """pandas frame of a detector's scores of the run's present texts."""
    import pandas as pd

    file = run.folder / "scores" / f"{detector}.jsonl"
    rows = {(*unit(r), r["variant"]): r for r in sound(read_records(file), file, ("variant", "text_sha", "score"))}
    current = {(*unit(t), t["variant"]): sha(t["text"]) for t in texts(run)}
    return pd.DataFrame([rows[key] for key, digest in current.items() if key in rows and rows[key]["text_sha"] == digest])


def score_trained(run: Run, engine) -> None:
    """Score every text with the trained detector, each list by a model that has not seen it; all anew if any text changed.

    Warns, and leaves no scores, where the run has one list only.
    """
    from geobench.detectors import trained

    rows = texts(run)
    digest = sha("\n".join(f"{t['variant']} {sha(t['text'])}" for t in rows))
    shown = {"kind": "scores", "detector": trained.identity(engine), "catalog": catalog.catalog_sha(run.selected), "texts": digest}
    file = run.folder / "scores" / "trained.jsonl"
    if len(run.selected) < 2:
        warnings.warn("trained detector: left out, because a run of one list has no other list to train on", stacklevel=2)
        file.unlink(missing_ok=True)
        return
    if file.exists() and read_fingerprint(file) != shown:
        file.unlink()
    with Records(file, shown, KEY) as records:
        if len(records.done) == len(rows):
            return
        lists = [f"{t['dataset']}/{t['list']}" for t in rows]
        scores = trained.out_of_list_scores(engine.embed([t["text"] for t in rows]), [t["variant"] != "original" for t in rows], lists)
        for row, score in zip(rows, scores):
            records.append({k: row[k] for k in KEY} | {"text_sha": sha(row["text"]), "score": float(score)})
