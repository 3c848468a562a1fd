"""Fill a run's edits: one record per target and variant, finished ones kept."""

import json
from collections.abc import Iterable
from contextlib import ExitStack
from importlib import import_module
from itertools import groupby
from pathlib import Path

from geobench import attacks, catalog, heads
from geobench.attacks import named
from geobench.executors.units import run_units
from geobench.memory import peak_mib
from geobench.models import spec
from geobench.progress import expect
from geobench.rankers import open_ranker, parse_name, ranker_identity
from geobench.records import UNIT, Records
from geobench.run import Run, sha

CHECKPOINTS = ".checkpoints"  # beside the edits: unfinished optimisations, by variant and identity


def make_edits(run: Run, methods: Iterable[str]) -> list[str]:
    """Edit every target with each method; returns the variants, named for method and model."""
    made, together = [named(run.params, entry) for entry in methods], {}
    expect({_file(run, variant): len(run.tasks) for variant, _, _ in made})
    for variant, method, model in made:
        together.setdefault((attacks.METHODS[method], model), {})[variant] = method
    for (group, model), variants in together.items():
        if group in TOGETHER:
            TOGETHER[group](run, model, variants)
    for variant, method, model in made:
        if attacks.METHODS[method] not in TOGETHER:
            work, identity = _method(run, method, model)
            with _book(run, variant, identity) as records:
                _fill(run, records, method, work, run.tasks, _models(model, run.params.tap_ranker if method == "tap" else None))
    return [variant for variant, _, _ in made]


def _rewrite(run: Run, model: str, variants: dict[str, str]) -> None:
    """All of a model's rewrites (variant: method) in one pass, so that prompts of several methods decode together."""
    from geobench.attacks import rewrites
    from geobench.models import open_model

    params = run.params
    identity = spec(model).identity() | rewrites.identity(params)

    def work(asked):
        return rewrites.run(asked, open_model(model, batch_size=params.batch_size), params)

    with ExitStack() as stack:
        books = {m: stack.enter_context(_book(run, v, identity)) for v, m in variants.items()}
        todo = [(m, t) for m in books for t in run.tasks if t.key() not in books[m].done]
        for (method, task), (_, edit), seconds in run_units(params, work, todo, [model], lambda ask: _place(ask[1])):
            books[method].append(_record(method, books[method].path.stem, task, edit, seconds))


def _place(task) -> tuple:
    return task.list.key, task.target


def _models(model: str | None, ranker: str | None) -> list[str]:
    """The models that a method opens: its own, and that of the ranker that it searches with."""
    return [name for name in (model, ranker and parse_name(ranker)[0]) if name]


def _optimise(run: Run, model: str, variants: dict[str, str]) -> None:
    """All of a model's white-box attacks (variant: method), list by list, so that they share the clean prompts of one list."""
    from geobench.attacks import optimise
    from geobench.models import open_model

    params, under = run.params, {variant: attacks.with_knowledge(run.params, variant) for variant in variants}
    shown = spec(model).identity() | {"ranker": ranker_identity(params.optimisation_ranker)}
    known = {v: shown | optimise.identity(import_module(f"geobench.attacks.{method}"), under[v]) for v, method in variants.items()}
    for variant in variants:
        known[variant] |= heads.identity(spec(model)) if under[variant].objective == "attention" else {}
    texts, kept = catalog.catalog_sha(run.selected), run.folder / "edits" / CHECKPOINTS
    # a checkpoint is only ever resumed under the identity that it was made under
    folders = {v: kept / v / sha(json.dumps([texts, known[v]], sort_keys=True)) for v in variants}

    def work(asked):
        engine, clean = open_model(model, batch_size=params.batch_size), {}
        ranker = open_ranker(params.optimisation_ranker, params.batch_size)
        for variant, group in groupby(asked, lambda ask: ask[0]):
            module = import_module(f"geobench.attacks.{variants[variant]}")
            yield from optimise.run(module, (task for _, task in group), engine, ranker, under[variant], folders[variant], clean)

    with ExitStack() as stack:
        books = {v: stack.enter_context(_book(run, v, known[v])) for v in variants}
        lists = [list(tasks) for _, tasks in groupby(run.tasks, lambda task: task.list.key)]
        todo = [(v, task) for tasks in lists for v in variants for task in tasks if task.key() not in books[v].done]
        models = _models(model, params.optimisation_ranker)
        for (variant, _), (task, edit), seconds in run_units(params, work, todo, models, lambda ask: _place(ask[1])):
            books[variant].append(_record(variants[variant], variant, task, edit, seconds))


TOGETHER = {"rewrites": _rewrite, "white_box": _optimise}  # groups whose methods share work


def import_edits(run: Run) -> list[str]:
    """Read the external edits; each file is a variant named for it."""
    from geobench.attacks import external

    variants = []
    for file in run.params.external_edits:
        edits = external.read(file, run.selected)
        variants.append("external__" + Path(file).stem)
        by_key = {task.key(): edit for task, edit in edits}
        with _book(run, variants[-1], {"texts": sha("\n".join(edit["text"] for _, edit in edits))}) as records:
            _fill(run, records, "external", lambda tasks: ((t, by_key[t.key()]) for t in tasks), [t for t, _ in edits])
    return variants


def _book(run: Run, variant: str, identity: dict) -> Records:
    shown = {"kind": "edits", "variant": variant, "catalog": catalog.catalog_sha(run.selected), **identity}
    return Records(_file(run, variant), shown, kept=())


def _file(run: Run, variant: str) -> Path:
    return run.folder / "edits" / f"{variant}.jsonl"


def _fill(run: Run, records: Records, method: str, work, tasks, models: Iterable[str] = ()) -> None:
    todo = [t for t in tasks if t.key() not in records.done]
    for task, (_, edit), seconds in run_units(run.params, work, todo, models, _place):
        records.append(_record(method, records.path.stem, task, edit, seconds))


def _record(method: str, variant: str, task, edit: dict, seconds: float) -> dict:
    cost = {"seconds": round(seconds, 3), "peak_mib": peak_mib()}
    return dict(zip(UNIT, task.key())) | {"method": method, "variant": variant} | edit | cost


def _method(run: Run, method: str, model: str | None):
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
