"""The main job: execute the notebooks in order with papermill, reuse what is up to date, and say what happened."""

import hashlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from geobench import paths
from geobench.errors import GeoBenchError, nearest
from geobench.params import RESULT_FREE, load
from geobench.records import differences

SEARCH = "11"  # first notebook of the search track, which needs no catalog and no edits
GROUPS = {"02_white_box": ("white_box",), "03_black_box": ("black_box", "controls"), "04_rewrites": ("rewrites",)}


def notebooks() -> list[str]:
    """Names of the notebooks, in order: 01 to 08 ranking track, 11 on search track."""
    return sorted(f.stem for f in paths.NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


@dataclass
class Plan:
    """What a call would run: the folder, the checked parameters and the notebooks."""

    profile: str
    run: str
    params: object
    chosen: list[str]
    force: bool = False

    @property
    def folder(self) -> Path:
        return paths.RESULTS / self.run


def plan(profile="smoke", overrides=None, run=None, only=(), start=None, force=False) -> Plan:
    """Check everything that can be checked before a model loads."""
    params = load(profile, overrides)
    known = notebooks()
    for name in (*only, *([start] if start else [])):
        if sum(k == name or k.startswith(f"{name}_") for k in known) != 1:
            raise GeoBenchError(f"unknown notebook `{name}`.{nearest(name, known)}")
    chosen = [k for k in known if not only or any(k == n or k.startswith(f"{n}_") for n in only)]
    if start:
        chosen = [k for k in chosen if k >= start]
    made = Plan(profile, run or profile, params, chosen, force)
    saved = made.folder / "params.yaml"
    if saved.exists() and not force:
        old = {k: v for k, v in yaml.safe_load(saved.read_text()).items() if k not in RESULT_FREE}
        lines = differences(old, json.loads(json.dumps(params.identity())))
        if lines:
            raise GeoBenchError(f"{made.folder} was made with other parameters ({'; '.join(lines)}); use --run NAME to keep both, or --force to make it anew")
    return made


def digest(made: Plan, name: str) -> str:
    """What a notebook's result depends on: its parameters, its code, the library and the files it reads."""
    h = hashlib.sha256()
    h.update(json.dumps(made.params.identity(), sort_keys=True).encode())
    code = [paths.NOTEBOOKS / f"{name}.ipynb", *sorted((paths.ROOT / "lib").rglob("*.py")), *sorted(paths.PARAMS.rglob("*.yaml"))]
    for file in code:
        h.update(file.read_bytes())
    for file in map(Path, made.params.external_edits):
        h.update((paths.ROOT / file).read_bytes() if (paths.ROOT / file).exists() else b"")
    if name >= SEARCH:
        return _search_digest(made, name, h)
    for file in sorted(made.folder.glob("edits/*.jsonl")) if name >= "05" else ():
        h.update(file.read_bytes())
    for kind in ("ranks/*/*.jsonl", "scores/*.jsonl") if name >= "07" else ():
        for file in sorted(made.folder.glob(kind)):
            h.update(file.read_bytes())
    return h.hexdigest()


def _search_digest(made: Plan, name: str, h) -> str:
    """The same for the search track: its corpus, and from notebook 12 on the chosen instances."""
    files = [*sorted((paths.ROOT / "data" / "embedded" / "search").glob("*.[jc]s*")), paths.ROOT / made.params.search_corpus / "instances.jsonl"]
    files += [made.folder / "search" / "instances.jsonl"] if name >= "12" else []
    for file in files:
        h.update(file.read_bytes() if file.exists() else b"")
    return h.hexdigest()


def execute(made: Plan, say=print) -> list[dict]:
    """Run the plan; returns one row per notebook (state, seconds). Stops at the first that fails."""
    made.folder.mkdir(parents=True, exist_ok=True)
    if made.force:
        _clear(made)
    _borrow(made, say)
    (made.folder / "params.yaml").write_text(yaml.safe_dump(made.params.model_dump(), sort_keys=False, allow_unicode=True))
    rows, start = [], time.perf_counter()
    for n, name in enumerate(made.chosen, 1):
        began = time.perf_counter()
        manifest = made.folder / "manifests" / f"{name}.json"
        kept = json.loads(manifest.read_text()) if manifest.exists() and not made.force else {}
        if kept.get("digest") == digest(made, name):
            state, seconds = "reused", kept["seconds"]
        else:
            say(f"[{n}/{len(made.chosen)}] {name} ...")
            _one(made, name)
            manifest.parent.mkdir(parents=True, exist_ok=True)
            state, seconds = "ran", round(time.perf_counter() - began, 1)
            row = {"notebook": name, "digest": digest(made, name), "seconds": seconds, **_versions()}
            manifest.write_text(json.dumps(row, indent=1, sort_keys=True) + "\n")
        rows.append({"notebook": name, "state": state, "seconds": seconds})
        left = (time.perf_counter() - start) / n * (len(made.chosen) - n)
        say(f"[{n}/{len(made.chosen)}] {name}: {state} ({seconds:.0f} s when it ran); about {left:.0f} s left")
    (made.folder / "status.json").write_text(json.dumps(rows, indent=1) + "\n")
    from geobench.report import build_report

    say(f"report: {build_report(made.folder)}")
    return rows


def _clear(made: Plan) -> None:
    """Remove the records of the chosen notebooks, which --force makes anew."""
    import shutil

    from geobench.attacks import METHODS

    for name in made.chosen:
        for file in sorted(made.folder.glob("edits/*.jsonl")) if name in GROUPS else ():
            method = file.stem.split("__")[0]
            if METHODS.get(method) in GROUPS[name] or (method == "external" and name == "03_black_box"):
                file.unlink()
        folder = {"05_ranking": "ranks", "06_detection": "scores"}.get(name)
        if folder:
            shutil.rmtree(made.folder / folder, ignore_errors=True)
        for stale in {"11_search_data": ("",), "12_search_answers": ("contexts.jsonl", "answers", "grades")}.get(name, ()):
            where = made.folder / "search" / stale
            shutil.rmtree(where, ignore_errors=True) if where.is_dir() else where.unlink(missing_ok=True)


def _borrow(made: Plan, say) -> None:
    """A new run of later notebooks takes the catalog and edits of the profile's own run, if it has none."""
    source = paths.RESULTS / made.profile
    if made.chosen and "04_rewrites" < made.chosen[0] < SEARCH and not (made.folder / "catalog.jsonl").exists():
        if source == made.folder or not (source / "catalog.jsonl").exists():
            raise GeoBenchError(f"{made.folder} has no catalog or edits, and neither has {source}: run ./run_all.sh --profile {made.profile} first")
        import shutil

        shutil.copy(source / "catalog.jsonl", made.folder / "catalog.jsonl")
        shutil.copytree(source / "edits", made.folder / "edits", dirs_exist_ok=True)
        say(f"catalog and edits: from {source}")


def _one(made: Plan, name: str) -> None:
    """Execute one notebook into a partial file that is renamed when it has succeeded, and export it to HTML."""
    import papermill
    from nbconvert import HTMLExporter

    folder = made.folder / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    partial, final = folder / f"{name}.partial.ipynb", folder / f"{name}.ipynb"
    known = papermill.inspect_notebook(str(paths.NOTEBOOKS / f"{name}.ipynb"))
    values = {k: v for k, v in made.params.model_dump().items() if k in known} | {"run": made.run}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(paths.ROOT / "lib"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    try:
        papermill.execute_notebook(
            str(paths.NOTEBOOKS / f"{name}.ipynb"), str(partial), parameters=values, kernel_name="python3", cwd=str(paths.ROOT), progress_bar=False
        )
    except papermill.PapermillExecutionError as error:
        raise GeoBenchError(f"{name} stopped in cell {error.exec_count}: {error.ename}: {error.evalue} (see {partial})") from error
    partial.replace(final)
    body, _ = HTMLExporter(exclude_input_prompt=True, exclude_output_prompt=True).from_filename(str(final))
    (folder / f"{name}.html").write_text(body)


def _versions() -> dict:
    from importlib.metadata import version

    return {"versions": {p: version(p) for p in ("torch", "transformers", "numpy", "pandas", "papermill")}}
