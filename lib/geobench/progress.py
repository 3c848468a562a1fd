"""How far a running notebook is: its long loops say how many units they will make and have made, and the runner shows it.

`./run_all.sh` names a small file in GEOBENCH_PROGRESS; without it nothing is counted. A part is a record file or a named loop.
"""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

from geobench.tables import put

PAUSE = 0.5  # seconds between two writes


class Progress:
    """`expect` and `reached` per part; the file holds the sums over the parts that are expected: {"done": ..., "all": ...}."""

    def __init__(self, file: str | Path | None):
        self.file = Path(file) if file else None
        self.all: dict[str, int] = {}
        self.done: dict[str, int] = {}
        self._written = 0.0

    def expect(self, units: dict) -> None:
        """So many units of each part are wanted in all, finished ones included."""
        self.all |= {str(part): number for part, number in units.items()}
        self._write(at_once=True)

    def reached(self, part, done: int) -> None:
        """So many units of a part are finished."""
        self.done[str(part)] = done
        self._write(at_once=done == self.all.get(str(part)))

    def loop(self, units: int) -> Callable[[], None]:
        """A part of so many units, in no file of its own; call what comes back after each."""
        part, done = f"loop {len(self.all)}", count(1)
        self.expect({part: units})
        return lambda: self.reached(part, next(done))

    def state(self) -> dict[str, int]:
        """Finished and wanted units."""
        return {"done": sum(min(self.done.get(part, 0), number) for part, number in self.all.items()), "all": sum(self.all.values())}

    def _write(self, at_once: bool) -> None:
        if self.file and self.all and (at_once or time.monotonic() - self._written > PAUSE):
            with suppress(OSError):  # a full disk: the records say so
                put(self.file, json.dumps(self.state()))
            self._written = time.monotonic()


CURRENT = Progress(os.environ.get("GEOBENCH_PROGRESS"))
expect, reached, loop = CURRENT.expect, CURRENT.reached, CURRENT.loop


def read(file: Path) -> dict[str, int]:
    """What stands in a progress file; zeros where there is none yet."""
    with suppress(OSError, ValueError):
        return json.loads(file.read_text(encoding="utf-8"))
    return {"done": 0, "all": 0}
