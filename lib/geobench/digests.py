"""What a notebook's result depends on, as one digest: the same digest reuses it."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from geobench import paths
from geobench.dependences import FLOWS, makes, read
from geobench.models import spec
from geobench.params import Params
from geobench.reproduce import notebook_of

SEARCH = "11"  # first notebook of the search track, which needs no catalog and no edits


def digest(params: Params, folder: Path, name: str) -> str:
    """Hex digest of a notebook's parameters, its models, its code, the library and the files that it reads from the run's `folder`."""
    from geobench.preflight import needed_models

    models = [spec(model).identity() for model in needed_models(params, [name])]
    h = hashlib.sha256(json.dumps([params.identity(), models], sort_keys=True).encode())
    code = [paths.NOTEBOOKS / f"{name}.ipynb", *sorted((paths.ROOT / "lib").rglob("*.py")), *sorted(paths.PARAMS.rglob("*.yaml"))]
    external = [paths.ROOT / file for file in params.external_edits]
    for file in (*code, *external, *_outside(params, folder, name), *read(name, folder)):
        content = file.read_bytes() if file.exists() else b""
        h.update(f"{file.name} {len(content)}\n".encode() + content)
    return h.hexdigest()


def _outside(params: Params, folder: Path, name: str) -> list[Path]:
    """What a notebook reads that no notebook makes: in 01 the embedded lists and their nouns, and what pins the public ones; other people's
    records in 09 and 10; the corpus from 11 on; in 12 the readers' labels; in 15 what the paper printed."""
    if name[:2] in ("09", "10"):
        from geobench.released import record_files, released_folder

        return record_files(released_folder(params.released_dir))
    if name < "02":
        lists = [file for dataset in params.datasets for file in sorted((paths.EMBEDDED / dataset).glob("*.jsonl"))]
        return [*lists, paths.EMBEDDED / "nouns.yaml", paths.SOURCES]
    return _searched(params, folder, name) if name >= SEARCH else []


def _searched(params: Params, folder: Path, name: str) -> list[Path]:
    embedded, own = (paths.ROOT / "data" / "embedded" / "search").glob("*.jsonl"), paths.ROOT / params.search_corpus
    files = [*sorted(embedded), own / "instances.jsonl", own / "training.jsonl"]
    files += sorted(f for f in Path(params.search_folder).rglob("*test*") if f.is_file()) if params.search_folder else []
    kept = ("guard.json", "prototypes.safetensors", "model.safetensors")
    files += [paths.ROOT / params.search_guard_folder / file for file in kept] if params.search_guard_folder else []
    if name[:2] == "12":
        from geobench.search import grading

        files += [grading.LABELS, *sorted((folder / "search").glob("labels*.csv"))]
    if name >= "15":
        files.append(paths.ROOT / "data" / "published" / "search_track.yaml")
    return files


def files(folder: Path) -> dict[str, int]:
    """Time of change of each result file of a run, by path within it."""
    found = {}
    kinds = ("edits", "ranks", "scores", "ladder", "search", "tables", "figures", "notebooks")
    for pattern in ("*.jsonl", "*.csv", *(f"{kind}/**/*" for kind in kinds)):
        for file in folder.glob(pattern):
            if file.suffix != ".partial" and ".checkpoints" not in file.parts and file.is_file():
                with suppress(FileNotFoundError):  # another notebook has just removed or replaced it
                    found[str(file.relative_to(folder))] = file.stat().st_mtime_ns
    return found


def outputs(name: str, before: dict[str, int], after: dict[str, int]) -> list[str]:
    """Files that a notebook wrote between two looks, and its records, which it found complete: without them it is not reused.

    Other notebooks may have written at the same time; what is known as another's is not counted.
    """
    return sorted(f for f, time in after.items() if makes(name, f) or (before.get(f) != time and not _of_another(name, f)))


def _of_another(name: str, file: str) -> bool:
    kind, _, rest = file.partition("/")
    if kind == "notebooks":
        return not rest.startswith(f"{name}.")
    if kind in ("tables", "figures"):
        return notebook_of(rest.split(".")[0]) not in (name, None)
    return any(makes(other, file) for other in FLOWS)


# what a notebook writes anew each time, so that one opened by hand with other parameters overwrites it; records know what made them
WHOLE = ("tables/", "figures/", "search/instances.jsonl", "search/training.jsonl")


def seal(folder: Path, made: list[str]) -> dict[str, str]:
    """Digest of each file among a notebook's outputs that it wrote whole, to be kept in its manifest."""
    whole = [file for file in made if file.startswith(WHOLE) or "/" not in file]
    return {file: hashlib.sha256((folder / file).read_bytes()).hexdigest()[:16] for file in whole}


def intact(folder: Path, kept: dict) -> bool:
    """Whether all outputs of a manifest are there, and those that it sealed are what they were."""
    there = all((folder / file).exists() for file in kept.get("outputs", ()))
    return there and seal(folder, kept.get("outputs", [])) == kept.get("sealed", {})
