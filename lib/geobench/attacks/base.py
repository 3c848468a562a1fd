"""What every method is given and gives back: a task (one target of one list) to an edit."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from geobench.engines.reply import without_thinking
from geobench.lists import RankList, one_line


@dataclass(frozen=True)
class Task:
    """Edit the description of item `target` (1-based) of `list`."""

    list: RankList
    target: int

    @property
    def item(self):
        return self.list.items[self.target - 1]

    @property
    def name(self) -> str:
        """How errors call it."""
        return f"{self.list.key} item {self.target} ({self.item.name})"

    def key(self) -> tuple:
        return self.list.dataset, self.list.name, self.target


def appended(task: Task, suffix: str, **more) -> dict:
    """The edit that puts `suffix` after the description."""
    suffix = one_line(suffix)
    return {"mode": "suffix", "suffix": suffix, "text": f"{task.item.description} {suffix}".strip(), **more}


def rewritten(text: str, **more) -> dict:
    """The edit that replaces the description."""
    return {"mode": "rewrite", "suffix": None, "text": text.strip(), **more}


def snippet(reply: str) -> str:
    """A model's snippet without thinking, code fences, quotes and line breaks."""
    lines = [line for line in without_thinking(reply).splitlines() if not line.strip().startswith("```")]
    return one_line(" ".join(lines)).strip("\"'`\u201c\u201d\u2018\u2019 ")


def windows(tasks: Iterable, size: int) -> Iterator[list]:
    """Tasks (or what goes with them) in groups of `size`, in order."""
    tasks = iter(tasks)
    while group := list(islice(tasks, size)):
        yield group


def seed_of(*parts: object) -> int:
    """A 63-bit seed from anything printable, the same on every machine."""
    import hashlib

    return int.from_bytes(hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()[:8], "big") >> 1
