"""Ray workers: each is an actor in a process of its own that keeps the models it has opened. Ray is optional (`pip install ray`).

Results stream back unit by unit, so that the driver records each as it is finished. A lost worker (killed, out of memory, its node
gone) is replaced where the cluster has room; what it had not given back goes to another, at most `ray_retries` times.
"""

import os
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from geobench.errors import GeoBenchError, came

INSTALL = 'install it into the environment of this checkout and of every node: pip install "ray>=2.40"'
PATIENCE = 600.0  # seconds without any worker before the run gives up


def require_ray():
    """The ray package; GeoBenchError, saying how to get it, where it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise GeoBenchError(f"executor: ray: the package `ray` is not installed ({came(error, 80)}); {INSTALL}") from None
    return ray


class Worker:
    """What runs on the other side."""

    def ready(self) -> bool:
        return True

    def run(self, work, units: list) -> Iterator[tuple]:
        """(result, seconds, None) per unit; (None, 0.0, message) instead where a GeoBenchError ends the work."""
        start = time.perf_counter()
        try:
            for result in work(units):
                yield result, time.perf_counter() - start, None
                start = time.perf_counter()
        except GeoBenchError as error:
            yield None, 0.0, str(error)


@dataclass
class Piece:
    """Units that go to one worker; `losses`: how many workers were lost over it."""

    units: list[tuple[int, object]]
    losses: int = 0


@dataclass
class Pool:
    """The workers of one set of models; `size` of them, as the cluster has room."""

    settings: Any
    models: tuple[str, ...]
    idle: list = field(default_factory=list)
    starting: dict = field(default_factory=dict)  # reference of `ready` -> worker
    running: dict = field(default_factory=dict)  # stream of results -> (worker, piece)
    failed_starts: int = 0

    def __post_init__(self):
        self.ray, self.asked = require_ray(), _asked(self.settings)
        if not self.ray.is_initialized():  # RAY_ADDRESS names a cluster; without it, one on this machine
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            self.ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        p = self.settings
        self.make = self.ray.remote(num_cpus=p.ray_cpus, num_gpus=p.ray_gpus, max_restarts=0)(Worker).remote

    def room(self) -> int:
        """How many workers the cluster can hold now; at least 1."""
        if self.settings.ray_workers:
            return self.settings.ray_workers
        there, p = self.ray.cluster_resources(), self.settings
        by_gpu = there.get("GPU", 0) / p.ray_gpus if p.ray_gpus else float("inf")
        return max(1, int(min(there.get("CPU", 1) / p.ray_cpus, by_gpu)))

    def map(self, work, groups: list) -> Iterator[tuple]:
        """(number, result, seconds) of every unit of every group, as finished."""
        waiting, work = deque(Piece(list(group)) for group in groups), self.ray.put(work)
        try:
            while waiting or self.running:
                self._hand_out(waiting, work)
                for ready in self.ray.wait([*self.running, *self.starting], timeout=PATIENCE)[0]:
                    if ready in self.starting:
                        self._started(ready)
                    else:
                        yield from self._next(ready, waiting)
        finally:
            if self.running:  # stopped midway: what they are at would be computed in vain
                self.close()

    def _hand_out(self, waiting: deque, work) -> None:
        """Give the idle workers work, and start more while there is work and room."""
        while waiting and self.idle:
            worker, piece = self.idle.pop(), waiting.popleft()
            stream = worker.run.options(num_returns="streaming").remote(work, [unit for _, unit in piece.units])
            self.running[stream] = worker, piece
        there = len(self.running) + len(self.starting)
        for _ in range(min(self.room() - there, len(waiting) - len(self.starting))):
            worker = self.make()
            self.starting[worker.ready.remote()] = worker
        if not self.running and not self.ray.wait([*self.starting], timeout=PATIENCE)[0]:
            p, has = self.settings, {k: v for k, v in self.ray.cluster_resources().items() if k in ("CPU", "GPU")}
            raise GeoBenchError(
                f"executor: ray: no worker could be started in {PATIENCE:.0f} s; each needs ray_cpus={p.ray_cpus:g} and "
                f"ray_gpus={p.ray_gpus:g}, the cluster has {came(has)}"
            )

    def _started(self, ready) -> None:
        worker = self.starting.pop(ready)
        try:
            self.ray.get(ready)
        except self.ray.exceptions.RayError as error:
            self.failed_starts += 1
            if self.failed_starts > self.settings.ray_retries:
                raise GeoBenchError(f"executor: ray: {self.failed_starts} workers did not start; the last: {came(error)}") from error
            return
        self.idle.append(worker)

    def _next(self, stream, waiting: deque) -> Iterator[tuple]:
        """The next result of a stream; its end, or its worker's, where there is none."""
        worker, piece = self.running[stream]
        try:
            result, seconds, said = self.ray.get(next(stream))
        except StopIteration:
            del self.running[stream]
            self.idle.append(worker)
            return
        except self.ray.exceptions.RayTaskError as error:  # the work itself failed: a fault of ours, not of the cluster
            raise error.as_instanceof_cause() from None
        except self.ray.exceptions.RayError as error:
            del self.running[stream]
            self._lost(worker, piece, error, waiting)
            return
        if said is not None:
            raise GeoBenchError(said)
        number, _ = piece.units.pop(0)
        yield number, result, seconds

    def _lost(self, worker, piece: Piece, error: Exception, waiting: deque) -> None:
        self.ray.kill(worker)
        if not piece.units:
            return
        piece.losses += 1
        if piece.losses > self.settings.ray_retries:
            raise GeoBenchError(
                f"executor: ray: {piece.losses} workers were lost over one piece of work ({len(piece.units)} units left; ray_retries="
                f"{self.settings.ray_retries}); everything finished is kept; the last: {came(error)}"
            ) from error
        waiting.appendleft(piece)

    def close(self) -> None:
        """End the workers, and with them their models."""
        for worker in (*self.idle, *self.starting.values(), *(worker for worker, _ in self.running.values())):
            self.ray.kill(worker)
        self.idle, self.starting, self.running = [], {}, {}


def _asked(settings) -> dict:
    return {name: value for name, value in settings.model_dump().items() if name.startswith("ray_")}


_current: Pool | None = None


def pool(settings, models: tuple[str, ...]) -> Pool:
    """This process's workers, kept while the same models are asked for; others are ended first, so that their memory is free."""
    global _current
    if _current is None or (_current.models, _current.asked) != (models, _asked(settings)):
        if _current is not None:
            _current.close()
        _current = Pool(settings, models)
    return _current
