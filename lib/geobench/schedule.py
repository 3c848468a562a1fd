"""Which notebooks run when: each once those that it waits for are done, as many side by side as cores and memory allow.

None of it changes a result: every notebook computes on one thread, and reads nothing that another is writing.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager

from geobench.dependences import FLOWS, before, left
from geobench.errors import GeoBenchError, NotebooksFailed
from geobench.memory import available_mib
from geobench.progress import read

TOGETHER = 6 * 1024  # MiB that notebooks side by side may need in all, where `workers` does not say how many there are
PROCESSES = 700  # MiB of a notebook beside its models: a kernel with its libraries, and papermill
PAUSE = 0.2  # seconds between two looks at the running notebooks
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def need_mib(params, name: str) -> int:
    """The most memory that a notebook needs: as measured in smoke, or more where its models are larger."""
    from geobench.dry_run import BYTES, OVERHEAD
    from geobench.models import spec
    from geobench.preflight import needed_models

    rows = [row for row in map(spec, needed_models(params, [name])) if not row.gives.served]
    weights = sum((row.parameters or 0) * 1e9 * BYTES[row.dtype] * OVERHEAD for row in rows) / 2**20
    return max(FLOWS[name].memory if name in FLOWS else 0, round(PROCESSES + weights))


def side_by_side(params, chosen: list[str], cores: int, free: int, gpu: bool) -> tuple[int, str]:
    """(how many notebooks run at a time, why they are fewer than `workers` asks for or nothing). free: MiB."""
    needs = sorted((need_mib(params, name) for name in chosen), reverse=True)

    def fit(room: int) -> int:
        return max([1, *(n for n in range(1, len(needs) + 1) if sum(needs[:n]) <= room)])

    if params.workers is None:
        alone = gpu or params.executor == "ray"  # they share the device, or the cluster
        return (1 if alone else min(cores, fit(min(free, TOGETHER)))), ""
    used = min(params.workers, cores, fit(free))
    if used >= min(params.workers, len(chosen)):
        return used, ""
    memory = f"one needs up to {needs[0] / 1024:.1f} GiB, and {free / 1024:.1f} are free"
    short = f"this machine has {cores} core{'s' * (cores > 1)}" if used == cores else memory
    return used, f"workers={params.workers}: {used} at a time, because {short}"


def room(params, chosen: list[str]) -> tuple[int, str]:
    """The same for this machine."""
    from geobench.reproduce import gpus

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return side_by_side(params, chosen, cores, available_mib(), bool(gpus()) and os.environ.get("CUDA_VISIBLE_DEVICES") != "")


@contextmanager
def stoppable():
    """SIGTERM ends what runs inside as Ctrl-C does: KeyboardInterrupt, with the signal's number."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, _):
        for one in SIGNALS:
            signal.signal(one, signal.SIG_IGN)  # one is enough: what follows ends all processes
        raise KeyboardInterrupt(number)

    kept = {one: signal.signal(one, stop) for one in SIGNALS}
    try:
        yield
    finally:
        for one, handler in kept.items():
            signal.signal(one, handler)


def run(chosen: list[str], workers: int, begin: Callable, finish: Callable, shown) -> None:
    """begin(name): a started notebook, or None where nothing is to do; finish(name, notebook) takes an ended one, GeoBenchError where it
    failed. NotebooksFailed at the end, when all that do not wait for a failed one are done. Stops all if it is stopped."""
    waiting, running, failed, unrun = sorted(chosen, key=lambda name: (-left(name, chosen), name)), {}, {}, []
    try:
        while waiting or running:
            for name in [n for n in waiting if before(n) & {*failed, *unrun}]:
                waiting.remove(name)
                unrun.append(name)
            ready = [n for n in waiting if not before(n) & {*waiting, *running}]
            for name in ready[: max(0, workers - len(running))]:
                waiting.remove(name)
                if notebook := begin(name):
                    running[name] = notebook
                    shown.start(name)
            _look(running, finish, shown, failed)
    finally:
        shown.close()
        _stop(running)
    if failed:
        lines = [*failed.values()] + [f"not run, because of that: {', '.join(sorted(unrun))}"] * bool(unrun)
        raise NotebooksFailed("\n".join(lines))


def _look(running: dict, finish: Callable, shown, failed: dict) -> None:
    """Show how far the running notebooks are, and take those that have ended."""
    for name, notebook in [*running.items()]:
        shown.update(name, read(notebook.units), read(notebook.cells))
        if notebook.ended:
            shown.end(name)
            try:
                finish(name, notebook)
            except GeoBenchError as error:
                failed[name] = str(error)
            del running[name]
    if running:
        time.sleep(PAUSE)


def _stop(running: dict) -> None:
    for notebook in running.values():
        notebook.stop()
    for notebook in running.values():
        notebook.wait()
