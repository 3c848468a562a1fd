"""Fill a run's edits: one record per target and variant, finished ones kept."""

import json
import time
from collections.abc import Iterable
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path

from geobench import attacks, catalog
from geobench.attacks import named
from geobench.memory import peak_mib
from geobench.models import spec
from geobench.rankers import open_ranker, ranker_identity
from geobench.records import UNIT, Records
from geobench.run import Run, sha

CHECKPOINTS = ".checkpoints"  # beside the edits: unfinished optimisations, by variant and identity


def make_edits(run: Run, methods: Iterable[str]) -> list[str]:
    """Edit every target with each method; returns the variants, named for method and model."""
    made, together = [named(run.params, entry) for entry in methods], {}
    for variant, method, model in made:
        if attacks.METHODS[method] == "rewrites":
            together.setdefault(model, {})[method] = variant
    for model, variants in together.items():
        _rewrite(run, model, variants)
    _optimise(run, [entry for entry in made if attacks.METHODS[entry[1]] == "white_box"])
    for variant, method, model in made:
        if attacks.METHODS[method] not in ("rewrites", "white_box"):
            work, identity = _method(run, variant, method, model)
            with _book(run, variant, identity) as records:
                _fill(records, method, work, run.tasks)
    return [variant for variant, _, _ in made]


def _rewrite(run: Run, model: str, variants: dict[str, str]) -> None:
    """All of a model's rewrites (method: variant) in one pass, so that prompts of several methods decode together."""
    from geobench.attacks import rewrites
    from geobench.models import open_model

    identity = spec(model).identity() | rewrites.identity(run.params)
    with ExitStack() as stack:
        books = {m: stack.enter_context(_book(run, v, identity)) for m, v in variants.items()}
        todo = [(m, t) for m in variants for t in run.tasks if t.key() not in books[m].done]
        start = time.perf_counter()
        done = rewrites.run(todo, open_model(model, batch_size=run.params.batch_size), run.params) if todo else ()
        for (method, _), (task, edit) in zip(todo, done):
            books[method].append(_record(method, variants[method], task, edit, time.perf_counter() - start))
            start = time.perf_counter()


def _optimise(run: Run, made: list[tuple]) -> None:
    """The white-box methods (variant, method, model) list by list, so that they share the clean prompts of one list."""
    ranker = cache(lambda: open_ranker(run.params.optimisation_ranker, run.params.batch_size))
    clean: dict[str, dict] = {model: {} for _, _, model in made}
    with ExitStack() as stack:
        books = []
        for variant, method, model in made:
            work, identity = _optimised(run, variant, method, model, ranker, clean[model])
            books.append((stack.enter_context(_book(run, variant, identity)), method, work))
        for _, tasks in groupby(run.tasks, lambda task: task.list.key):
            tasks = list(tasks)
            for records, method, work in books:
                _fill(records, method, work, tasks)


def import_edits(run: Run) -> list[str]:
    """Read the external edits; each file is a variant named for it."""
    from geobench.attacks import external

    variants = []
    for file in run.params.external_edits:
        edits = external.read(file, run.selected)
        variants.append("external__" + Path(file).stem)
        by_key = {task.key(): edit for task, edit in edits}
        with _book(run, variants[-1], {"texts": sha("\n".join(edit["text"] for _, edit in edits))}) as records:
            _fill(records, "external", lambda tasks: ((t, by_key[t.key()]) for t in tasks), [t for t, _ in edits])
    return variants


def _book(run: Run, variant: str, identity: dict) -> Records:
    shown = {"kind": "edits", "variant": variant, "catalog": catalog.catalog_sha(run.selected), **identity}
    return Records(run.folder / "edits" / f"{variant}.jsonl", shown)


def _fill(records: Records, method: str, work, tasks) -> None:
    todo = [t for t in tasks if t.key() not in records.done]
    start = time.perf_counter()
    for task, edit in work(todo) if todo else ():
        records.append(_record(method, records.path.stem, task, edit, time.perf_counter() - start))
        start = time.perf_counter()


def _record(method: str, variant: str, task, edit: dict, seconds: float) -> dict:
    cost = {"seconds": round(seconds, 3), "peak_mib": peak_mib()}
    return dict(zip(UNIT, task.key())) | {"method": method, "variant": variant} | edit | cost


def _method(run: Run, variant: str, method: str, model: str | None):
    """(work(tasks) -> (task, edit) pairs, identity) of one method; models load only when there is work."""
    from geobench.attacks import controls, tap, zero_shot
    from geobench.models import open_model

    params = run.params
    if model is None:
        return lambda tasks: controls.run(method, tasks), controls.identity()
    who = spec(model).identity()

    def engine():
        return open_model(model, batch_size=params.batch_size)

    if method == "zero_shot":
        return lambda tasks: zero_shot.run(tasks, engine(), params), who | zero_shot.identity(params)
    who |= {"ranker": ranker_identity(params.tap_ranker)} | tap.identity(params)
    return lambda tasks: tap.run(tasks, engine(), open_ranker(params.tap_ranker, params.batch_size), params), who


def _optimised(run: Run, variant: str, method: str, model: str, ranker, clean: dict):
    """The same of a white-box method. ranker() opens the one that tests suffixes; clean: what it shares with others of its model."""
    from geobench.attacks import optimise
    from geobench.models import open_model

    params, module = run.params, import_module(f"geobench.attacks.{method}")
    who = spec(model).identity() | {"ranker": ranker_identity(params.optimisation_ranker)} | optimise.identity(module, params)
    folder = run.folder / "edits" / CHECKPOINTS / variant
    folder /= sha(json.dumps(who, sort_keys=True))  # a checkpoint is only ever resumed under the identity that it was made under

    def work(tasks):
        return optimise.run(module, tasks, open_model(model, batch_size=params.batch_size), ranker(), params, folder, clean)

    return work, who
