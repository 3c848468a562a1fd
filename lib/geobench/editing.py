"""Fill a run's edits: one record per target and variant, finished ones kept."""

import time
from collections.abc import Iterable
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
    variants = []
    for method in methods:
        group = attacks.METHODS[method]
        model = getattr(run.params, MODEL[group]) if group in MODEL else None
        variants.append(f"{method}__{spec(model).name}" if model else method)
        work, identity = _method(method, group, model, run.params)
        _fill(run, method, variants[-1], run.tasks, work, {"catalog": catalog.catalog_sha(run.selected), **identity})
    return variants


def import_edits(run: Run) -> list[str]:
    """Read the external edits; each file is a variant named for it."""
    from geobench.attacks import external

    variants = []
    for file in run.params.external_edits:
        edits = external.read(file, run.selected)
        variants.append("external__" + Path(file).stem)
        by_key = {task.key(): edit for task, edit in edits}
        identity = {"texts": sha("\n".join(edit["text"] for _, edit in edits))}
        _fill(run, "external", variants[-1], [t for t, _ in edits], lambda tasks: ((t, by_key[t.key()]) for t in tasks), identity)
    return variants


def _fill(run: Run, method: str, variant: str, tasks, work, identity: dict) -> None:
    with Records(run.folder / "edits" / f"{variant}.jsonl", {"kind": "edits", "variant": variant, **identity}) as records:
        todo = [t for t in tasks if t.key() not in records.done]
        start = time.perf_counter()
        for task, edit in work(todo) if todo else ():
            head = dict(zip(UNIT, task.key())) | {"method": method, "variant": variant}
            records.append(head | edit | {"seconds": round(time.perf_counter() - start, 3)})
            start = time.perf_counter()


def _method(method: str, group: str, model: str | None, params: Params):
    """(work(tasks) -> (task, edit) pairs, identity) of one method; models load only when there is work."""
    from geobench.attacks import controls, rewrites, sts, tap, zero_shot
    from geobench.models import open_model

    def engine():
        return open_model(model, batch_size=params.batch_size)

    who = spec(model).identity() if model else {}
    if group == "controls":
        return lambda tasks: controls.run(method, tasks), controls.identity()
    if group == "rewrites":
        return lambda tasks: rewrites.run(method, tasks, engine(), params), who | rewrites.identity(params)
    if method == "tap":
        search = {"ranker": ranker_identity(params.tap_ranker)}

        def searched(tasks):
            return tap.run(tasks, engine(), open_ranker(params.tap_ranker, params.batch_size), params)

        return searched, who | search | tap.identity(params)
    module = {"zero_shot": zero_shot, "sts": sts}[method]
    return lambda tasks: module.run(tasks, engine(), params), who | module.identity(params)
