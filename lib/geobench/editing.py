"""Fill a run's edits: one record per target and variant, finished ones kept."""

import time
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path

from geobench import attacks, catalog
from geobench.models import spec
from geobench.params import Params
from geobench.rankers import open_ranker, ranker_identity
from geobench.records import UNIT, Records
from geobench.run import Run, sha

MODEL = {"white_box": "optimised_on", "black_box": "attacker", "rewrites": "rewriter"}


def make_edits(run: Run, methods: Iterable[str]) -> list[str]:
    """Edit every target with each method; returns the variants, named for method and model."""
    methods = list(methods)
    together = [m for m in methods if attacks.METHODS[m] == "rewrites"]
    if together:
        _rewrite(run, together)
    for method in methods:
        if method not in together:
            work, identity = _method(run, method)
            with _book(run, _named(run.params, method)[0], identity) as records:
                _fill(records, method, work, run.tasks)
    return [_named(run.params, method)[0] for method in methods]


def _rewrite(run: Run, methods: list[str]) -> None:
    """All rewrites in one pass, so that prompts of several methods decode together."""
    from geobench.attacks import rewrites
    from geobench.models import open_model

    model = run.params.rewriter
    identity = spec(model).identity() | rewrites.identity(run.params)
    variants = {m: _named(run.params, m)[0] for m in methods}
    with ExitStack() as stack:
        books = {m: stack.enter_context(_book(run, v, identity)) for m, v in variants.items()}
        todo = [(m, t) for m in methods for t in run.tasks if t.key() not in books[m].done]
        start = time.perf_counter()
        done = rewrites.run(todo, open_model(model, batch_size=run.params.batch_size), run.params) if todo else ()
        for (method, _), (task, edit) in zip(todo, done):
            books[method].append(_record(method, variants[method], task, edit, time.perf_counter() - start))
            start = time.perf_counter()


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


def _named(params: Params, method: str) -> tuple[str, str | None]:
    """(variant, model) of a method."""
    group = attacks.METHODS[method]
    model = getattr(params, MODEL[group]) if group in MODEL else None
    return f"{method}__{spec(model).name}" if model else method, model


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
    return dict(zip(UNIT, task.key())) | {"method": method, "variant": variant} | edit | {"seconds": round(seconds, 3)}


def _method(run: Run, method: str):
    """(work(tasks) -> (task, edit) pairs, identity) of one method; models load only when there is work."""
    from geobench.attacks import controls, tap, zero_shot
    from geobench.models import open_model

    params, (variant, model) = run.params, _named(run.params, method)
    if model is None:
        return lambda tasks: controls.run(method, tasks), controls.identity()
    who = spec(model).identity()

    def engine():
        return open_model(model, batch_size=params.batch_size)

    if method == "zero_shot":
        return lambda tasks: zero_shot.run(tasks, engine(), params), who | zero_shot.identity(params)
    if method == "tap":
        who |= {"ranker": ranker_identity(params.tap_ranker)} | tap.identity(params)
        return lambda tasks: tap.run(tasks, engine(), open_ranker(params.tap_ranker, params.batch_size), params), who
    return _optimised(params, method, engine, run.folder / "edits" / ".checkpoints" / variant, who)


def _optimised(params: Params, method: str, engine, folder: Path, who: dict):
    """The same of a white-box method."""
    from geobench.attacks import optimise

    module = import_module(f"geobench.attacks.{method}")
    who |= {"ranker": ranker_identity(params.optimisation_ranker)} | optimise.identity(method, module.NAMES, params)
    ranker = partial(open_ranker, params.optimisation_ranker, params.batch_size)
    return lambda tasks: optimise.run(module, tasks, engine(), ranker(), params, folder), who
