"""Where units of work (targets to edit, lists to rank, texts to score) are done: here, or by the workers of a Ray cluster.

Whoever calls `run_units` writes the records; a worker only computes. What a unit gives does not depend on where it is done, nor on
the units beside it, so both executors make the same records; with Ray they come as they are finished, in no fixed order.
"""

import time
from collections.abc import Callable, Iterable, Iterator

Work = Callable[[list], Iterable]  # units -> one result per unit, in order


def run_units(
    settings, work: Work, units: Iterable, models: Iterable[str] = (), key: Callable = lambda unit: (None, None)
) -> Iterator[tuple]:
    """(unit, result, seconds) of every unit, as finished.

    models: registry names of the models that the work opens; work without one, or with one behind an API, is done here whatever
    the executor: it gains nothing elsewhere, and one process counts the money. key(unit): (list, target), which say what of the units a
    worker is given at once (`ray_tasks`). With Ray, `work` travels: it may hold names and settings, never a loaded model.
    """
    units, models = list(units), tuple(dict.fromkeys(models))
    if not units:
        return
    if settings.executor == "local" or not models or _served(models):
        start = time.perf_counter()
        for result, unit in zip(work(units), units):  # in this order the work runs on to its end after its last result
            yield unit, result, time.perf_counter() - start
            start = time.perf_counter()
        return
    from geobench.executors import workers

    for number, result, seconds in workers.pool(settings, models).map(work, pieces(units, key, settings.ray_tasks)):
        yield units[number], result, seconds


def pieces(units: list, key: Callable, size: str) -> list[list[tuple[int, object]]]:
    """(number, unit) pairs that go to one worker together: those of one list, or of one target; in order of their first unit."""
    found: dict = {}
    for number, unit in enumerate(units):
        where = key(unit)
        found.setdefault(where if size == "target" else where[0], []).append((number, unit))
    return list(found.values())


def _served(models: tuple[str, ...]) -> bool:
    from geobench.models import spec

    return any(spec(model).gives.served for model in models)
