"""One run: its folder, its parameters, its lists and targets, and the edits made so far."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from geobench import catalog, paths
from geobench.attacks.base import Task
from geobench.engines.budget import CURRENT
from geobench.errors import GeoBenchError, nearest
from geobench.params import Params, check, load
from geobench.records import read_records, sound
from geobench.reproduce import read_params
from geobench.variants import method_of


def sha(text: str) -> str:
    """First 16 hex digits of a text's sha256: tells an edited text from another."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def unit(record: dict) -> tuple:
    """(dataset, list, target) of a record."""
    return record["dataset"], record["list"], record["target"]


def open_run(run: str, **values) -> "Run":
    """The run that a notebook works in, from the literals of its parameters cell (others: the values of the run's params.yaml)."""
    folder = paths.RESULTS / run
    saved = read_params(folder) or load().model_dump()
    params = check(saved | values)
    CURRENT.begin(str(folder.resolve()), params.max_cost)
    return Run(folder, params)


def drawn(params: Params) -> list:
    """The lists and targets that the parameters draw."""
    p = params
    return catalog.select(p.datasets, p.lists_per_dataset, p.targets_per_list, p.seed, p.target_rule)


def chosen_lists(made) -> list:
    """The lists of the plan: drawn anew where notebook 01 runs, else those of the folder or of the profile's own run."""
    if "01_data" not in made.chosen:
        for folder in (made.folder, paths.RESULTS / made.profile):
            if (folder / "catalog.jsonl").exists():
                return catalog.read_catalog(folder / "catalog.jsonl")
    return drawn(made.params)


@dataclass
class Run:
    """`folder` holds catalog.jsonl, edits/, ranks/, scores/, tables/, figures/."""

    folder: Path
    params: Params

    def choose(self) -> list:
        """Draw the run's lists and targets and write its catalog."""
        chosen = drawn(self.params)
        self.folder.mkdir(parents=True, exist_ok=True)
        catalog.write_catalog(self.folder / "catalog.jsonl", chosen)
        return chosen

    @cached_property
    def selected(self) -> list:
        """The lists and targets chosen by notebook 01."""
        if not (self.folder / "catalog.jsonl").exists():
            raise GeoBenchError(f"no catalog in {self.folder}: run notebook 01_data first (./run_all.sh --only 01_data)")
        return catalog.read_catalog(self.folder / "catalog.jsonl")

    @property
    def tasks(self) -> list[Task]:
        """Every target of the run."""
        return [Task(s.list, t) for s in self.selected for t in s.targets]

    def items(self) -> dict[tuple, Task]:
        """Every item of the run's lists by (dataset, list, place), in catalog order."""
        return {task.key(): task for s in self.selected for task in (Task(s.list, t) for t in range(1, len(s.list) + 1))}

    def edits(self, variants=None) -> dict[str, list[dict]]:
        """Every variant's edits (or those of `variants` alone: others may be in the making), variants in alphabetical order, records in
        catalog order."""
        place = {key: n for n, key in enumerate(self.items())}
        files = [f for f in sorted((self.folder / "edits").glob("*.jsonl")) if variants is None or f.stem in variants]
        if not files and variants is None:
            raise GeoBenchError(f"no edits in {self.folder}/edits: run notebooks 02 to 04 first")
        found = {f.stem: _edited(f) for f in files}
        for variant, rows in found.items():
            if odd := [r for r in rows if unit(r) not in place]:
                where = f"{self.folder / 'edits' / variant}.jsonl: {'/'.join(map(str, unit(odd[0])))}"
                raise GeoBenchError(f"{where}: no such item among the run's lists")
        return {v: sorted(rows, key=lambda r: place[unit(r)]) for v, rows in found.items()}


def _edited(file: Path) -> list[dict]:
    """The records of a variant's edits; GeoBenchError for an unknown method, another variant's records, or a target twice."""
    from geobench.attacks import METHODS

    if (method := method_of(file.stem)) not in (*METHODS, "external"):
        raise GeoBenchError(f"{file}: unknown variant `{file.stem}`.{nearest(method, METHODS)}")
    records = sound(read_records(file), file, ("text",))
    for record in records:
        if (variant := record.get("variant", file.stem)) != file.stem:
            where = f"{record['dataset']}/{record['list']}, target {record['target']}"
            raise GeoBenchError(f"{file}: {where}: expected `{file.stem}`, got `{variant}`")
    return records
