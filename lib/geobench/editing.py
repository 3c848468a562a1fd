"""Fill a run's edits: one record per target and variant, finished ones kept."""

import json
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path

from geobench import attacks, catalog
from geobench.attacks import named
from geobench.executors.units import run_units
from geobench.models import spec
from geobench.params import Params
from geobench.rankers import open_ranker, parse_name, ranker_identity
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
    for variant, method, model in made:
        if attacks.METHODS[method] != "rewrites":
            work, identity = _method(run, variant, method, model)
            with _book(run, variant, identity) as records:
                _fill(run, records, method, work, run.tasks, _models(run.params, method, model))
    return [variant for variant, _, _ in made]


def _rewrite(run: Run, model: str, variants: dict[str, str]) -> None:
    """All of a model's rewrites (method: variant) in one pass, so that prompts of several methods decode together."""
    from geobench.attacks import rewrites
    from geobench.models import open_model

    params = run.params
    identity = spec(model).identity() | rewrites.identity(params)

    def work(asked):
        return rewrites.run(asked, open_model(model, batch_size=params.batch_size), params)

    with ExitStack() as stack:
        books = {m: stack.enter_context(_book(run, v, identity)) for m, v in variants.items()}
        todo = [(m, t) for m in variants for t in run.tasks if t.key() not in books[m].done]
        for (method, task), (_, edit), seconds in run_units(params, work, todo, [model], lambda ask: _place(ask[1])):
            books[method].append(_record(method, variants[method], task, edit, seconds))


def _place(task) -> tuple:
    return task.list.key, task.target


def _models(params: Params, method: str, model: str | None) -> list[str]:
    """The models that a method opens: its own, and that of the ranker that it searches with."""
    searching = params.tap_ranker if method == "tap" else params.optimisation_ranker
    also = [parse_name(searching)[0]] if attacks.METHODS.get(method) == "white_box" or method == "tap" else []
    return [name for name in (model, *also) if name]


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
    return Records(run.folder / "edits" / f"{variant}.jsonl", shown, kept=())


def _fill(run: Run, records: Records, method: str, work, tasks, models: Iterable[str] = ()) -> None:
    todo = [t for t in tasks if t.key() not in records.done]
    for task, (_, edit), seconds in run_units(run.params, work, todo, models, _place):
        records.append(_record(method, records.path.stem, task, edit, seconds))


def _record(method: str, variant: str, task, edit: dict, seconds: float) -> dict:
    return dict(zip(UNIT, task.key())) | {"method": method, "variant": variant} | edit | {"seconds": round(seconds, 3)}


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
    if method == "tap":
        who |= {"ranker": ranker_identity(params.tap_ranker)} | tap.identity(params)
        return lambda tasks: tap.run(tasks, engine(), open_ranker(params.tap_ranker, params.batch_size), params), who
    return _optimised(params, method, engine, run.folder / "edits" / CHECKPOINTS / variant, who)


def _optimised(params: Params, method: str, engine, folder: Path, who: dict):
    """The same of a white-box method."""
    from geobench.attacks import optimise

    module = import_module(f"geobench.attacks.{method}")
    who |= {"ranker": ranker_identity(params.optimisation_ranker)} | optimise.identity(method, module.NAMES, params)
    ranker = partial(open_ranker, params.optimisation_ranker, params.batch_size)
    own = folder / sha(json.dumps(who, sort_keys=True))  # a checkpoint is only ever resumed under the identity that it was made under
    return lambda tasks: optimise.run(module, tasks, engine(), ranker(), params, own), who
