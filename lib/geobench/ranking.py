"""Fill and read a run's ranks: the clean lists once per order, and every edit under the same orders."""

import json
import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from geobench import catalog
from geobench.executors.units import run_units
from geobench.orders import evaluation_orders, released_orders
from geobench.progress import expect
from geobench.rankers import folder_name, open_for, parse_name
from geobench.rankers.base import Job, Ranking
from geobench.records import Records, read_fingerprint, read_records, sound
from geobench.run import Run, sha, unit

REPLIED = ("status", "replies", "finish")  # what a record keeps beside its ranks where a model replied, to be read again


@dataclass(frozen=True)
class Protocol:
    """Which orders a ranker is run under; `own`: orders are drawn per target (the release's mode)."""

    count: int
    own: bool
    seed: int

    def orders(self, lst, target: int | None) -> tuple[tuple[int, ...], ...]:
        """The evaluation orders of a list, for `target` alone where they are drawn per target."""
        if self.own:
            drawn = released_orders(lst.key, target, len(lst), self.count, self.seed)
        else:
            drawn = evaluation_orders(lst.key, len(lst), self.count, self.seed)
        return tuple(tuple(int(i) for i in order) for order in drawn)


def protocol(params, ranker) -> Protocol:
    """One order for order-free rankers, `generate_orders` for the `generate` read-out, else `orders`."""
    generate = parse_name(ranker.name)[1] == "generate"
    count = 1 if ranker.order_free else (params.generate_orders or params.orders) if generate else params.orders
    return Protocol(count, params.orders_mode == "released" and not ranker.order_free, params.seed)


def rank_all(run: Run, name: str) -> None:
    """Rank the clean lists and every edit with one ranker; finished units are kept. No list is ranked before all prompts fit."""
    p, edits = run.params, run.edits()
    models = [model for model in (parse_name(name)[0],) if model]
    wanted = _wanted(p, name, edits)
    for ranker in (name, *p.rankers):
        expect({_folder(run, ranker) / f"{v}.jsonl": len(rows) for v, rows in {"clean": run.selected, **_wanted(p, ranker, edits)}.items()})
    ((_, ranker, _),) = run_units(p, partial(_describe, p), [name], models)
    rule = protocol(p, ranker)
    shown = {"ranker": ranker.identity, "catalog": catalog.catalog_sha(run.selected), "orders": rule.count}
    shown |= {"own": rule.own, "seed": rule.seed}
    folder = _folder(run, name)
    with ExitStack() as stack:
        files = {v: (folder / f"{v}.jsonl", {"kind": "ranks", "variant": v, **shown}) for v in ("clean", *wanted)}
        books = {v: stack.enter_context(Records(*file, kept=("text_sha",))) for v, file in files.items()}
        jobs = list(_jobs(run, wanted, books, rule))
        cut = _cut(name, run_units(p, partial(_fit, p, name), jobs, models, _place))
        for (own, job), (ranking, broken), _ in run_units(p, partial(_rank, p, name), jobs, models, _place):
            ended = {"finish": ranking.finish} if ranking.finish else {}
            noted = {"control_tokens": broken, "cut": cut.get(job.name)}
            books[job.variant].append(_record(job, own, ranking) | ended | {k: v for k, v in noted.items() if v})


def _wanted(params, name: str, edits: dict) -> dict[str, list[dict]]:
    """The edits that a ranker ranks."""
    only = params.generate_variants if parse_name(name)[1] == "generate" else None
    return {v: rows for v, rows in edits.items() if only is None or v in only}


def _folder(run: Run, name: str) -> Path:
    return run.folder / "ranks" / folder_name(name)


def _cut(name: str, fitted) -> dict[str, list[str]]:
    """What a ranker does not read to its end, by job; a warning says so."""
    found = {job.name: notes for (_, job), notes, _ in fitted if notes}
    if found:
        first, count = next(iter(found.values()))[0], sum(map(len, found.values()))
        warnings.warn(f"{name}: {count} passages are longer than it reads, and their ends are not seen; the first: {first}", stacklevel=3)
    return found


@dataclass(frozen=True)
class Described:
    """What is known of a ranker without its model here."""

    name: str
    identity: dict
    order_free: bool


def _describe(params, names: list[str]):
    for name in names:
        ranker = open_for(params, name)
        yield Described(ranker.name, ranker.identity(), ranker.order_free)


def _fit(params, name: str, jobs: list[tuple]):
    """What of each job is not read (None: all of it is); GeoBenchError for the first job whose prompt does not fit."""
    ranker = open_for(params, name)
    for _, job in jobs:
        yield ranker.fit(job)


def _rank(params, name: str, jobs: list[tuple]):
    """(ranking, control tokens that were broken) of each (own, job); rankers answer in the order asked."""
    ranker = open_for(params, name)
    for job, ranking in ranker.rank(job for _, job in jobs):
        yield ranking, job.control_tokens(getattr(ranker, "engine", None))


def _place(unit: tuple) -> tuple:
    _, job = unit
    return job.list.key, job.target


def _jobs(run: Run, wanted: dict, books: dict, rule: Protocol):
    """(target whose orders they are or None, job) of everything not yet recorded, list by list, the clean list first."""
    for chosen in run.selected:
        lst = chosen.list
        edits = [(v, r) for v, rows in wanted.items() for r in rows if (r["dataset"], r["list"]) == (lst.dataset, lst.name)]
        for own in sorted({r["target"] for _, r in edits}) if rule.own else [None]:
            if (lst.dataset, lst.name, own) not in books["clean"].done:
                yield own, Job(lst, rule.orders(lst, own))
        for variant, row in sorted(edits, key=lambda e: (e[1]["target"], e[0])):
            kept = books[variant].done.get(unit(row))
            if kept is None or kept["text_sha"] != sha(row["text"]):
                yield row["target"], Job(lst, rule.orders(lst, row["target"]), row["target"], row["text"], variant)


def _record(job: Job, own: int | None, ranking: Ranking) -> dict:
    record = {"dataset": job.list.dataset, "list": job.list.name, "target": own, "orders": job.orders}
    if job.target is None:
        return record | {"ranks": ranking.ranks, "scores": ranking.scores, "status": ranking.status, "replies": ranking.replies}
    mine = [row[job.target - 1] for row in ranking.ranks]
    return record | {"ranks": mine, "text_sha": sha(job.text or ""), "status": ranking.status, "replies": ranking.replies}


def read_ranks(run: Run, name: str) -> tuple[list[dict], list[dict]]:
    """(clean records, edited records with their variant) of one ranker, for metrics.per_target; ranks of older texts are left out."""
    folder = _folder(run, name)
    texts = {(v, *unit(r)): sha(r["text"]) for v, rows in run.edits().items() for r in rows}
    place = {key: n for n, key in enumerate(run.items())} | {s.list.key: n for n, s in enumerate(run.selected)}

    def placed(record: dict) -> tuple:  # workers finish in any order
        at = f"{record['dataset']}/{record['list']}"
        return place.get(at, len(place)), place.get(unit(record), -1)

    clean = sorted(_read(folder / "clean.jsonl"), key=placed)
    edited = []
    for variant in sorted({v for v, *_ in texts}):
        if (folder / f"{variant}.jsonl").exists():
            rows = {unit(r): r | {"variant": variant} for r in _read(folder / f"{variant}.jsonl", "text_sha")}
            edited += [r for key, r in sorted(rows.items(), key=lambda row: placed(row[1])) if texts.get((variant, *key)) == r["text_sha"]]
    return clean, edited


def known_ranks(run: Run, name: str, identity: dict, variants) -> dict[tuple, dict]:
    """Ranks that a ranker of this identity has given (with REPLIED, where it replied), by (dataset, list, target or None, variant, sha of
    its text or None, orders)."""
    same, known = json.loads(json.dumps({"ranker": identity, "catalog": catalog.catalog_sha(run.selected)})), {}
    for variant in variants:
        file = _folder(run, name) / f"{variant}.jsonl"
        if file.exists() and same.items() <= read_fingerprint(file).items():
            for r in _read(file, *["text_sha"] * (variant != "clean")):
                key = (r["dataset"], r["list"], r["target"], variant, r.get("text_sha"), tuple(map(tuple, r["orders"])))
                known[key] = {k: r[k] for k in ("ranks", *REPLIED) if r.get(k)}
    return known


def _read(file, *needed: str) -> list[dict]:
    return sound(read_records(file), file, ("orders", "ranks", *needed))
