"""Two controls written without a model: a blunt injection, and neutral padding of equal length (in words)."""

from collections.abc import Iterator
from itertools import accumulate, cycle

from geobench.attacks.base import Task, appended
from geobench.prompts import load_prompt, prompt_sha, render


def identity() -> dict:
    return {"prompt": prompt_sha("controls")}


def injection(task: Task) -> str:
    """The sentence that tells the ranker to put the target first."""
    return render(load_prompt("controls")["injection"], name=task.item.name, noun=task.list.noun)


def padding(task: Task) -> str:
    """Whole neutral sentences, as many as come closest to the injection's length in words."""
    wanted = len(injection(task).split())
    sentences: list[str] = []
    for sentence, total in zip(cycle(load_prompt("controls")["padding"]["sentences"]), accumulate(_lengths())):
        if sentences and total - wanted > wanted - (total - len(sentence.split())):
            break
        sentences.append(sentence)
        if total >= wanted:
            break
    return " ".join(sentences)


def _lengths() -> Iterator[int]:
    return (len(s.split()) for s in cycle(load_prompt("controls")["padding"]["sentences"]))


def run(method: str, tasks) -> Iterator[tuple[Task, dict]]:
    write = {"injection": injection, "padding": padding}[method]
    for task in tasks:
        yield task, appended(task, write(task))
