"""The loop that all white-box attacks share: steps under search orders, tests on held-out search orders, checkpoints, and the
choice of the suffix. A method gives `start(problem)` and `step(problem, state, number)` on a state of tensors and plain values.

Nothing of it meets the evaluation: optimisation and held-out orders are odd permutations, evaluation orders even ones.
"""

import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import torch

from geobench.attacks import TARGET_LAST, family, objectives, scene
from geobench.attacks.base import Task, appended, seed_of
from geobench.attacks.vocabulary import Vocabulary, vocabulary
from geobench.errors import GeoBenchError
from geobench.kernels import decoder
from geobench.orders import search_split
from geobench.prompts import prompt_sha
from geobench.rankers.base import Job

if TYPE_CHECKING:
    from geobench.engines.local import LocalModel
    from geobench.params import Params

SHARED = ("objective", "white_box_start", "optimisation_prompt", "optimisation_seeds", "selection", "test_every", "test_orders", "seed")


@dataclass
class Problem:
    """One target's optimisation: its scenes (one per search order), the start slot, and a seed of its own."""

    task: Task
    module: ModuleType
    engine: "LocalModel"
    settings: "Params"
    words: Vocabulary
    restart: int
    scenes: list[scene.Scene]
    slot: list[int]
    held_out: list[tuple[int, ...]]

    @property
    def model(self):
        return self.engine.model

    def setting(self, name: str):
        """The method's parameter of this name."""
        return getattr(self.settings, f"{family(self.module.METHOD)}_{name}")

    def seed(self, *parts) -> int:
        """A seed from the target, the restart and `parts`."""
        return seed_of(self.settings.seed, self.module.METHOD, *self.task.key(), self.restart, *parts)

    def scene(self, step: int) -> scene.Scene:
        """The order of this step: the item order changes after each."""
        return self.scenes[step % len(self.scenes)]

    def text(self, slot: list[int]) -> str:
        return self.words.text(slot)[1:]


@dataclass
class Search:
    """What a restart knows: the method's `state`, finished steps, the trace, and the tokens run so far."""

    state: dict
    step: int = 0
    trace: list[dict] = field(default_factory=list)
    tokens: dict = field(default_factory=lambda: {"forward": 0, "backward": 0})


def identity(module, settings) -> dict:
    """What determines a method's suffixes, engine and ranker aside."""
    own = {name: getattr(settings, name) for name in (*(f"{family(module.METHOD)}_{n}" for n in module.NAMES), *SHARED)}
    return {"prompt": prompt_sha("ranking"), "own_prompt": prompt_sha("white_box"), **own}


def run(module, tasks, engine, ranker, settings, folder: Path, clean: dict) -> Iterator[tuple[Task, dict]]:
    """One edit per task, with its trace. clean: what methods of one engine share (scene.scenes_of); tasks of one list should come
    together. GeoBenchError for an engine without gradients."""
    model = getattr(engine, "model", None)
    if model is None or not decoder.supports(model):
        what = type(engine if model is None else model).__name__
        raise GeoBenchError(f"{module.METHOD} needs gradients of a local Llama-, Qwen2- or Mistral-type decoder; {what} gives none")
    words = vocabulary(engine)
    for task in tasks:
        searches = []
        for restart in range(settings.optimisation_seeds):
            searches.append(_search(module, problem(module, task, engine, settings, words, restart, clean), ranker, folder))
        trace = [row for found in searches for row in found.trace]
        tokens = {kind: sum(found.tokens[kind] for found in searches) for kind in ("forward", "backward")}
        best = chosen(trace, settings.selection)
        yield task, appended(task, best["suffix"], trace=trace, tokens=tokens)
        for file in _files(folder, task):
            file.unlink(missing_ok=True)


def problem(module, task: Task, engine, settings, words: Vocabulary, restart: int, clean: dict) -> Problem:
    """The scenes of a task under its search orders, the first `test_orders` of which are held out."""
    size, count = (getattr(settings, f"{family(module.METHOD)}_{name}") for name in ("tokens", "orders"))
    style = {"own": family(module.METHOD), "paraphrased": "paraphrased"}.get(settings.optimisation_prompt)
    last = task.target - 1 if style in TARGET_LAST else None
    held_out, orders = search_split(task.list.key, len(task.list), settings.test_orders, count, settings.seed, last)
    scenes, slot = scene.scenes_of(task, engine, orders, size, words, clean, style, settings.objective, settings.white_box_start)
    return Problem(task, module, engine, settings, words, restart, scenes, slot, held_out)


def _search(module, problem: Problem, ranker, folder: Path) -> Search:
    file, every = _file(folder, problem), problem.settings.checkpoint_every
    found, total = _load(file, problem.model.device) or Search(module.start(problem)), problem.setting("steps")
    if not found.trace:
        first = module.slots(problem, found.state)
        for number, loss in enumerate(objectives.losses(problem.model, problem.scene(0), first)):
            found.trace.append(_tested(problem, ranker, _row(problem, 0, number, loss, first[number]), first[number]))
    saved = time.monotonic()
    while found.step < total and not found.state.get("finished"):
        before = dict(decoder.WORK)
        loss = module.step(problem, found.state, found.step)
        found.step += 1
        found.tokens = {kind: found.tokens[kind] + decoder.WORK[kind] - before[kind] for kind in found.tokens}
        test = found.step % problem.settings.test_every == 0 or found.step == total or found.state.get("finished")
        for number, slot in enumerate(module.slots(problem, found.state)):
            row = _row(problem, found.step, number, loss[number], slot)
            found.trace.append(_tested(problem, ranker, row, slot) if test else row)
        if found.step % every == 0 and time.monotonic() - saved > 2:  # a cheap step is cheaper to repeat than to save
            _save(file, found)
            saved = time.monotonic()
    return found


def _row(problem: Problem, step: int, number: int, loss: float, slot: list[int]) -> dict:
    """A trace row: `loss` is the objective under this step's order alone."""
    return {"step": step, "loss": loss, "suffix": problem.text(slot), "restart": problem.restart, "row": number}


def _tested(problem: Problem, ranker, row: dict, slot: list[int]) -> dict:
    """The trace row with the objective's mean over all search orders, and the target's ranks under the held-out ones."""
    mean = sum(objectives.losses(problem.model, here, [slot])[0] for here in problem.scenes) / len(problem.scenes)
    text = appended(problem.task, row["suffix"])["text"]
    job = Job(problem.task.list, tuple(problem.held_out), problem.task.target, text, problem.module.METHOD)
    _, ranking = next(iter(ranker.rank([job])))
    ranks = [ranks[problem.task.target - 1] for ranks in ranking.ranks]
    return row | {"objective": mean, "ranks": ranks, "mean_rank": sum(ranks) / len(ranks)}


def chosen(trace: list[dict], selection: str) -> dict:
    """The tested row that becomes the edit, the latest on ties: `held_out` best mean rank; `objective` least objective; `last` the last;
    `released` best rank under the first held-out order, the earliest on ties (as published: a minimum over noisy ranks)."""
    tested = [row for row in trace if "ranks" in row]
    if selection == "last":
        return tested[-1]
    if selection == "released":
        return min(tested, key=lambda row: row["ranks"][0])
    return min(reversed(tested), key=lambda row: row["objective" if selection == "objective" else "mean_rank"])


def _file(folder: Path, problem: Problem) -> Path:
    return _files(folder, problem.task, problem.settings.optimisation_seeds)[problem.restart]


def _files(folder: Path, task: Task, restarts: int = 0) -> list[Path]:
    """Checkpoint files of a task, one per restart (0: those that exist)."""
    stem = f"{seed_of(*task.key()):016x}"
    return [folder / f"{stem}-{n}.safetensors" for n in range(restarts)] or sorted(folder.glob(f"{stem}-*.safetensors"))


def _save(file: Path, found: Search) -> None:
    """Write a checkpoint whole or not at all."""
    from safetensors.torch import save_file

    file.parent.mkdir(parents=True, exist_ok=True)
    tensors = {name: value.contiguous() for name, value in found.state.items() if isinstance(value, torch.Tensor)}
    plain = {name: value for name, value in found.state.items() if name not in tensors}
    rest = {"state": plain, "step": found.step, "trace": found.trace, "tokens": found.tokens}
    partial = file.with_suffix(".partial")
    save_file(tensors or {"none": torch.zeros(1)}, partial, metadata={"search": json.dumps(rest)})
    partial.replace(file)


def _load(file: Path, device) -> Search | None:
    """The checkpoint of a killed run, its tensors on `device`, or None."""
    from safetensors import SafetensorError, safe_open

    if not file.exists():
        return None
    try:
        with safe_open(file, "pt") as opened:
            rest = json.loads(opened.metadata()["search"])
            tensors = {name: opened.get_tensor(name).to(device) for name in opened.keys() if name != "none"}
    except SafetensorError as error:
        warnings.warn(f"{file} is damaged ({error}); its optimisation begins anew", stacklevel=2)
        return None
    return Search(rest["state"] | tensors, rest["step"], rest["trace"], rest["tokens"])
