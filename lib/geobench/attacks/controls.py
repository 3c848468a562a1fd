"""Two controls written without a model: a blunt injection, and neutral padding of equal length (in words)."""

from collections.abc import Iterator
from itertools import cycle, islice

from geobench.attacks.base import Task, appended
from geobench.prompts import load_prompt, prompt_sha, render


def identity() -> dict:
    return {"prompt": prompt_sha("controls")}


def injection(task: Task) -> str:
    """The sentence that tells the ranker to put the target first."""
    return render(load_prompt("controls")["injection"], name=task.item.name, noun=task.list.noun)


def padding(task: Task) -> str:
    """The description's own opening words again, as many as the injection has: longer, and nothing new said."""
    words = task.item.description.split()
    return " ".join(islice(cycle(words), len(injection(task).split()))) if words else ""


def run(method: str, tasks) -> Iterator[tuple[Task, dict]]:
    write = {"injection": injection, "padding": padding}[method]
    for task in tasks:
        yield task, appended(task, write(task))
