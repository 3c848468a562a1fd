"""The main job: execute the notebooks, side by side where they do not need each other, reuse what is up to date, and say what happened."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from geobench import paths
from geobench.clearing import clear
from geobench.errors import GeoBenchError, nearest
from geobench.execution import Execution
from geobench.locking import FolderLock
from geobench.params import RESULT_FREE, Params, load
from geobench.records import differences
from geobench.reparsing import refresh
from geobench.reproduce import manifests, read_params, run_folder
from geobench.schedule import room, stoppable
from geobench.tables import put


def notebooks() -> list[str]:
    """Names of the notebooks, in order: 01 to 08 ranking track, 11 on search track."""
    return sorted(f.stem for f in paths.NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


@dataclass
class Plan:
    """What a call would run: the folder, the checked parameters and the notebooks."""

    profile: str
    run: str
    params: Params
    chosen: list[str]
    force: bool = False

    @property
    def folder(self) -> Path:
        return paths.RESULTS / self.run


def plan(profile="smoke", overrides=None, run=None, only=(), start=None, force=False) -> Plan:
    """Check everything that can be checked before a model loads."""
    params = load(profile, overrides)
    if run is not None:
        run_folder(run)
    known = notebooks()
    only = [n.zfill(2) if n.isdigit() else n for n in only]
    start = start.zfill(2) if start and start.isdigit() else start
    for name in (*only, *(params.notebooks or ()), *([start] if start else [])):
        if sum(k == name or k.startswith(f"{name}_") for k in known) != 1:
            raise GeoBenchError(f"unknown notebook `{name}`.{nearest(name, known)}")
    wanted = only or params.notebooks
    chosen = [k for k in known if not wanted or any(k == n or k.startswith(f"{n}_") for n in wanted)]
    if start:
        chosen = [k for k in chosen if k >= start]
    if not chosen:
        raise GeoBenchError(f"nothing to run: none of {', '.join(wanted or known)} comes at or after {start}")
    made = Plan(profile, run or profile, params, chosen, force)
    if (made.folder / "params.yaml").exists() and not force:
        lines = differences(_identity_of(made.folder), json.loads(json.dumps(params.identity())))
        if lines:
            raise GeoBenchError(
                f"{made.folder} was made with other parameters ({'; '.join(lines)}); use --run NAME to keep both, or --force"
            )
    return made


def _identity_of(folder: Path) -> dict:
    """The result-determining values of a run's params.yaml."""
    try:
        return {k: v for k, v in read_params(folder).items() if k not in RESULT_FREE}
    except GeoBenchError as error:
        raise GeoBenchError(f"{error}; delete the file if the folder's other files are to be kept, or use --force") from None


def execute(made: Plan, say=print) -> list[dict]:
    """Run the plan, alone in its folder; returns one row per notebook (state, seconds). NotebooksFailed where some stopped."""
    with FolderLock(made.folder):
        return _execute(made, say)


def _execute(made: Plan, say) -> list[dict]:
    manifests(made.folder, but=made.chosen)  # the report will need them
    if made.force:
        clear(made.folder, made.chosen)
    _borrow(made, say)
    for line in refresh(made.folder):
        say(line)
    put(made.folder / "params.yaml", yaml.safe_dump(made.params.model_dump(), sort_keys=False, allow_unicode=True))
    workers, why = room(made.params, made.chosen)
    if why:
        say(why)
    with stoppable(), tempfile.TemporaryDirectory(prefix="gb-") as scratch:
        rows = Execution(made, say, Path(scratch)).run(workers)
    put(made.folder / "status.json", json.dumps(rows, indent=1) + "\n")
    from geobench.report import build_report

    say(f"report: {build_report(made.folder)}")
    return rows




def _borrow(made: Plan, say) -> None:
    """A new run of later notebooks takes the catalog and edits of the profile's own run, if it has none."""
    source = paths.RESULTS / made.profile
    if made.chosen and "05" <= made.chosen[0] < "10" and not (made.folder / "catalog.jsonl").exists():
        if source == made.folder or not (source / "catalog.jsonl").exists():
            raise GeoBenchError(
                f"{made.folder} has no catalog or edits, and neither has {source}: run ./run_all.sh --profile {made.profile} first"
            )
        if lines := _other_edits(made, source):
            raise GeoBenchError(
                f"{made.folder} has no edits, and those in {source} were made with other parameters ({'; '.join(lines)}); "
                "run all notebooks under this name"
            )
        import shutil

        shutil.copytree(source / "edits", made.folder / "edits", dirs_exist_ok=True)
        shutil.copy(source / "catalog.jsonl", made.folder / "catalog.jsonl")
        say(f"catalog and edits: from {source}")


def _other_edits(made: Plan, source: Path) -> list[str]:
    """What of the parameters that determine lists and edits (those of notebooks 01 to 04) differs from another run's."""
    import papermill

    names = {k for n in notebooks() if n <= "04_rewrites" for k in papermill.inspect_notebook(str(paths.NOTEBOOKS / f"{n}.ipynb"))}
    names.discard("resamples")  # notebook 02's table of the control takes it, no edit does
    old, new = _identity_of(source), json.loads(json.dumps(made.params.identity()))
    return differences({k: old.get(k) for k in names}, {k: new.get(k) for k in names})
