"""One run: its folder of records and its parameters, and the loops that fill the records (edits, ranks, scores)."""

import hashlib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from geobench import attacks, catalog, paths
from geobench.attacks.base import Task
from geobench.errors import GeoBenchError
from geobench.orders import evaluation_orders, released_orders
from geobench.params import Params, check
from geobench.rankers import folder_name, open_ranker, parse_name
from geobench.rankers.base import Job
from geobench.records import UNIT, Records, read_records


def sha(text: str) -> str:
    """First 16 hex digits of a text's sha256: tells an edited text from another."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def open_run(run: str, **values) -> "Run":
    """The run that a notebook works in, from the literals of its parameters cell (others: the values of the run's params.yaml)."""
    from geobench.params import load, parse_yaml

    folder = paths.RESULTS / run
    saved = parse_yaml((folder / "params.yaml").read_text()) if (folder / "params.yaml").exists() else load().model_dump()
    return Run(folder, check(saved | values))


@dataclass
class Run:
    """`folder` holds catalog.jsonl, edits/, ranks/, scores/, tables/, figures/."""

    folder: Path
    params: Params

    @cached_property
    def selected(self) -> list:
        """The lists and targets chosen by notebook 01."""
        if not (self.folder / "catalog.jsonl").exists():
            raise GeoBenchError(f"no catalog in {self.folder}: run notebook 01_data first (./run_all.sh --only 01_data)")
        return catalog.read_catalog(self.folder / "catalog.jsonl")

    @property
    def tasks(self) -> list[Task]:
        return [Task(s.list, t) for s in self.selected for t in s.targets]

    def choose(self) -> list:
        """Draw the run's lists and targets and write its catalog."""
        p = self.params
        chosen = catalog.select(p.datasets, p.lists_per_dataset, p.targets_per_list, p.seed)
        self.folder.mkdir(parents=True, exist_ok=True)
        catalog.write_catalog(self.folder / "catalog.jsonl", chosen)
        return chosen

    # --- edits --------------------------------------------------------------------------------------------------------------

    def edit(self, methods: Iterable[str]) -> list[str]:
        """Make the edits of `methods` for every target; returns the variants. Finished ones are kept."""
        variants = []
        for method in methods:
            group = attacks.METHODS[method]
            model = {"white_box": self.params.optimised_on, "black_box": self.params.attacker, "rewrites": self.params.rewriter}.get(group)
            variant = f"{method}__{model}" if model else method
            self._edit(method, group, model, variant)
            variants.append(variant)
        return variants

    def _edit(self, method: str, group: str, model: str | None, variant: str) -> None:
        work, identity = _method(method, group, model, self.params)
        print_ = {"kind": "edits", "variant": variant, "catalog": catalog.catalog_sha(self.selected), **identity}
        with Records(self.folder / "edits" / f"{variant}.jsonl", print_) as records:
            todo = [t for t in self.tasks if t.key() not in records.done]
            start = time.perf_counter()
            for task, edit in work(todo) if todo else ():
                head = dict(zip(UNIT, task.key())) | {"method": method, "variant": variant}
                records.append(head | edit | {"seconds": round(time.perf_counter() - start, 3)})
                start = time.perf_counter()

    def import_edits(self) -> list[str]:
        """Read the external edits; each file is a variant named for it."""
        from geobench.attacks import external

        variants = []
        for file in self.params.external_edits:
            variant = "external__" + Path(file).stem
            edits = external.read(file, self.selected)
            with Records(self.folder / "edits" / f"{variant}.jsonl", {"kind": "edits", "variant": variant, "texts": [sha(e["text"]) for _, e in edits]}) as records:
                for task, edit in edits:
                    if task.key() not in records.done:
                        records.append(dict(zip(UNIT, task.key())) | {"method": "external", "variant": variant} | edit | {"seconds": 0.0})
            variants.append(variant)
        return variants

    def edits(self) -> dict[str, list[dict]]:
        """Every variant's edits, variants in alphabetical order, records in catalog order."""
        place = {t.key(): n for n, t in enumerate(Task(s.list, i) for s in self.selected for i in range(1, len(s.list) + 1))}
        files = sorted((self.folder / "edits").glob("*.jsonl"))
        if not files:
            raise GeoBenchError(f"no edits in {self.folder}/edits: run notebooks 02 to 04 first")
        found = {f.stem: read_records(f) for f in files}
        return {v: sorted((r for r in rows if _unit(r) in place), key=lambda r: place[_unit(r)]) for v, rows in found.items()}

    # --- ranks --------------------------------------------------------------------------------------------------------------

    def orders_of(self, lst, target: int | None, order_free: bool, generate: bool) -> tuple[tuple[int, ...], ...]:
        """The evaluation orders of a list under this run's parameters."""
        p = self.params
        count = 1 if order_free else (p.generate_orders or p.orders) if generate else p.orders
        if p.orders_mode == "released" and not order_free:
            drawn = released_orders(lst.key, target, len(lst), count, p.seed)
        else:
            drawn = evaluation_orders(lst.key, len(lst), count, p.seed)
        return tuple(tuple(int(i) for i in order) for order in drawn)

    def rank(self, name: str) -> None:
        """Rank the clean lists and every edit with one ranker; finished units are kept."""
        p = self.params
        ranker = open_ranker(name, p.batch_size, p.rank_tokens, p.parse_mode)
        generate = parse_name(name)[1] == "generate"
        wanted = {v: rows for v, rows in self.edits().items() if not generate or p.generate_variants is None or v in p.generate_variants}
        print_ = {"kind": "ranks", "ranker": ranker.identity(), "catalog": catalog.catalog_sha(self.selected), "seed": p.seed,
                  "orders": len(self.orders_of(self.selected[0].list, 1, ranker.order_free, generate)), "orders_mode": p.orders_mode}  # fmt: skip
        folder = self.folder / "ranks" / folder_name(name)
        books = {v: Records(folder / f"{v}.jsonl", print_ | {"variant": v}) for v in ("clean", *wanted)}
        jobs = list(self._jobs(wanted, books, ranker.order_free, generate))
        for job, ranking in ranker.rank(jobs):
            books[job.variant].append(_rank_record(job, ranking, p.orders_mode == "released" and not ranker.order_free))
        for book in books.values():
            book.__exit__()

    def _jobs(self, wanted, books, order_free, generate):
        released = self.params.orders_mode == "released" and not order_free
        for chosen in self.selected:
            lst = chosen.list
            edits = [(v, r) for v, rows in wanted.items() for r in rows if (r["dataset"], r["list"]) == (lst.dataset, lst.name)]
            targets = sorted({r["target"] for _, r in edits}) if released else [None]
            for target in targets:
                if (lst.dataset, lst.name, target) not in books["clean"].done:
                    yield _CleanJob(lst, self.orders_of(lst, target, order_free, generate), own=target)
            for variant, row in sorted(edits, key=lambda e: (e[1]["target"], e[0])):
                kept = books[variant].done.get(_unit(row))
                if kept is None or kept["text_sha"] != sha(row["text"]):
                    orders = self.orders_of(lst, row["target"], order_free, generate)
                    yield Job(lst, orders, row["target"], row["text"], variant)

    def ranks(self, name: str) -> tuple[list[dict], list[dict]]:
        """(clean records, edited records with their variant) of one ranker, for metrics.per_target."""
        folder = self.folder / "ranks" / folder_name(name)
        texts = {(v, *_unit(r)): sha(r["text"]) for v, rows in self.edits().items() for r in rows}
        clean = list({_unit(r): r for r in read_records(folder / "clean.jsonl")}.values())
        edited = []
        for file in sorted(folder.glob("*.jsonl")):
            if file.stem != "clean":
                rows = {_unit(r): r | {"variant": file.stem} for r in read_records(file)}
                edited += [r for key, r in rows.items() if texts.get((file.stem, *key)) == r["text_sha"]]
        return clean, edited

    # --- scores -------------------------------------------------------------------------------------------------------------

    def texts(self) -> list[dict]:
        """Every text that detectors score: each target's original once, then every variant's edit."""
        originals = {t.key(): t.item.description for t in self.tasks}
        edits = self.edits()
        for rows in edits.values():
            for r in rows:
                originals.setdefault(_unit(r), next(s.list.items[r["target"] - 1].description for s in self.selected if (s.list.dataset, s.list.name) == (r["dataset"], r["list"])))
        first = [dict(zip(UNIT, key)) | {"variant": "original", "text": text} for key, text in originals.items()]
        return first + [dict(zip(UNIT, _unit(r))) | {"variant": v, "text": r["text"]} for v, rows in edits.items() for r in rows]

    def score(self, detector: str, identity: dict, work) -> None:
        """Score every text with a detector; `work(texts, names)` yields one dict with "score" per text. Finished ones are kept."""
        print_ = {"kind": "scores", "detector": identity, "catalog": catalog.catalog_sha(self.selected)}
        with Records(self.folder / "scores" / f"{detector}.jsonl", print_, (*UNIT, "variant")) as records:
            todo = [t for t in self.texts() if records.done.get(records.key_of(t), {}).get("text_sha") != sha(t["text"])]
            names = [f"{t['dataset']}/{t['list']} item {t['target']}, {t['variant']}" for t in todo]
            for text, result in zip(todo, work([t["text"] for t in todo], names) if todo else ()):
                records.append({k: text[k] for k in (*UNIT, "variant")} | {"text_sha": sha(text["text"])} | result)

    def scores(self, detector: str):
        """pandas frame of a detector's current scores."""
        import pandas as pd

        current = {(t["dataset"], t["list"], t["target"], t["variant"]): sha(t["text"]) for t in self.texts()}
        rows = {(*_unit(r), r["variant"]): r for r in read_records(self.folder / "scores" / f"{detector}.jsonl")}
        kept = [rows[key] for key, digest in current.items() if key in rows and rows[key]["text_sha"] == digest]
        return pd.DataFrame(kept)


@dataclass(frozen=True)
class _CleanJob(Job):
    """A clean list; `own` is the target whose orders it has in released mode."""

    own: int | None = None


def _unit(record: dict) -> tuple:
    return record["dataset"], record["list"], record["target"]


def _rank_record(job: Job, ranking, released: bool) -> dict:
    own = job.target if job.target is not None else job.own
    ranks = ranking.ranks if job.target is None else [row[job.target - 1] for row in ranking.ranks]
    record = {"dataset": job.list.dataset, "list": job.list.name, "target": own, "orders": job.orders, "ranks": ranks}
    if job.target is not None:
        record["text_sha"] = sha(job.text)
    elif ranking.scores is not None:
        record["scores"] = ranking.scores
    return record | {"status": ranking.status, "replies": ranking.replies}


def _method(method: str, group: str, model: str | None, params: Params):
    """(work(tasks) -> (task, edit) pairs, identity) of one method; models load only when there is work."""
    from geobench.attacks import controls, rewrites, tap, zero_shot
    from geobench.models import open_model, spec

    def engine():
        return open_model(model, batch_size=params.batch_size)

    who = spec(model).identity() if model else {}
    if group == "controls":
        return lambda tasks: controls.run(method, tasks, params), controls.identity(params)
    if group == "rewrites":
        return lambda tasks: rewrites.run(method, tasks, engine(), params), who | rewrites.identity(params)
    if method == "tap":
        ranker = {"ranker": params.tap_ranker}
        return lambda tasks: tap.run(tasks, engine(), open_ranker(params.tap_ranker, params.batch_size), params), who | ranker | tap.identity(params)
    if method == "zero_shot":
        return lambda tasks: zero_shot.run(tasks, engine(), params), who | zero_shot.identity(params)
    from geobench.attacks import sts

    return lambda tasks: sts.run(tasks, engine(), params), who | sts.identity(params)
