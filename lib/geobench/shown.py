"""What a person sees of the notebooks that run: a live bar for each on a terminal, elsewhere a line now and then."""

import sys
import time

EVERY = 30.0  # seconds between two lines of a notebook


class Line:
    """One running notebook in words: units and cells done, seconds, and how long the units that are left may take."""

    def __init__(self, name: str, clock=time.monotonic):
        self.name, self.clock, self.began = name, clock, clock()
        self.units, self.cells = {"done": 0, "all": 0}, {"done": 0, "all": 0}
        self._first: tuple[float, int] | None = None

    def update(self, units: dict, cells: dict) -> bool:
        """Take a new state; whether anything changed."""
        changed = (units, cells) != (self.units, self.cells)
        self.units, self.cells = units, cells
        if units["all"] and self._first is None:
            self._first = self.clock(), units["done"]  # what an earlier call finished says nothing of the speed
        return changed

    def left(self) -> float | None:
        """Seconds that the units left take at the speed so far; None where no unit was finished yet, or all are."""
        if self._first is None:
            return None
        since, made = self.clock() - self._first[0], self.units["done"] - self._first[1]
        rest = self.units["all"] - self.units["done"]
        return since / made * rest if made > 0 and rest else None

    def __str__(self) -> str:
        parts = [f"{self.units['done']} of {self.units['all']} units"] if self.units["all"] else []
        parts += [f"cell {self.cells['done']} of {self.cells['all']}"] if self.cells["all"] else []
        left = self.left()
        parts += [f"{self.clock() - self.began:.0f} s", *([] if left is None else [f"about {left:.0f} s left"])]
        return f"{self.name}: {', '.join(parts)}"


class Lines:
    """Lines through `say`: every EVERY seconds per notebook, where something changed."""

    def __init__(self, say=print, clock=time.monotonic):
        self.say, self.clock = say, clock
        self._open: dict[str, tuple[Line, list]] = {}  # name -> line, [when it was last shown, whether something changed since]

    def start(self, name: str) -> None:
        self._open[name] = Line(name, self.clock), [self.clock(), False]

    def update(self, name: str, units: dict, cells: dict) -> None:
        line, shown = self._open[name]
        shown[1] |= line.update(units, cells)
        if shown[1] and self.clock() - shown[0] >= EVERY:
            shown[:] = self.clock(), False
            self.say(f"  {line}")

    def end(self, name: str) -> None:
        self._open.pop(name, None)

    def close(self) -> None:
        self._open.clear()


class Bars:
    """A bar of tqdm per running notebook on a terminal; `say` writes above them."""

    def __init__(self, stream=None, clock=time.monotonic):
        self.stream, self.clock = stream or sys.stderr, clock
        self._open: dict[str, tuple[Line, object]] = {}

    def say(self, text: str) -> None:
        from tqdm import tqdm

        tqdm.write(text)

    def start(self, name: str) -> None:
        from tqdm import tqdm

        form = "{desc} |{bar:20}|{postfix}"
        bar = tqdm(total=0, desc=name, file=self.stream, leave=False, disable=False, dynamic_ncols=True, bar_format=form)
        self._open[name] = Line(name, self.clock), bar

    def update(self, name: str, units: dict, cells: dict) -> None:
        line, bar = self._open[name]
        line.update(units, cells)
        bar.n, bar.total = (units if units["all"] else cells)["done"], (units if units["all"] else cells)["all"]
        bar.set_postfix_str(str(line).removeprefix(f"{name}: "), refresh=True)

    def end(self, name: str) -> None:
        if name in self._open:
            self._open.pop(name)[1].close()

    def close(self) -> None:
        for name in [*self._open]:
            self.end(name)


def shown(say):
    """Bars where `say` is print and both streams are a terminal, else lines."""
    return Bars() if say is print and sys.stdout.isatty() and sys.stderr.isatty() else Lines(say)
