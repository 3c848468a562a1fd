"""What a notebook's result depends on, as one digest: the same digest reuses it."""

import hashlib
import json
from pathlib import Path

from geobench import paths
from geobench.models import spec
from geobench.params import Params

SEARCH = "11"  # first notebook of the search track, which needs no catalog and no edits


def digest(params: Params, folder: Path, name: str) -> str:
    """Hex digest of a notebook's parameters, its models, its code, the library and the files that it reads from the run's `folder`."""
    from geobench.preflight import needed_models

    models = [spec(model).identity() for model in needed_models(params, [name])]
    h = hashlib.sha256(json.dumps([params.identity(), models], sort_keys=True).encode())
    code = [paths.NOTEBOOKS / f"{name}.ipynb", *sorted((paths.ROOT / "lib").rglob("*.py")), *sorted(paths.PARAMS.rglob("*.yaml"))]
    external = [paths.ROOT / file for file in params.external_edits]
    for file in (*code, *external, *(_searched(params, folder, name) if name >= SEARCH else _ranked(params, folder, name))):
        content = file.read_bytes() if file.exists() else b""
        h.update(f"{file.name} {len(content)}\n".encode() + content)
    return h.hexdigest()


def _ranked(params: Params, folder: Path, name: str) -> list[Path]:
    """What the ranking track's notebooks read: in 01 the embedded lists and their nouns, and what pins the public ones; then the catalog;
    edits from 05 on, ranks and scores from 07 on, other people's records in 09 and 10."""
    if name < "02":
        lists = [file for dataset in params.datasets for file in sorted((paths.EMBEDDED / dataset).glob("*.jsonl"))]
        return [*lists, paths.EMBEDDED / "nouns.yaml", paths.SOURCES]
    patterns = [*(["edits/*.jsonl"] if name >= "05" else []), *(["ranks/*/*.jsonl", "scores/*.jsonl"] if name >= "07" else [])]
    files = [folder / "catalog.jsonl", *(file for pattern in patterns for file in sorted(folder.glob(pattern)))]
    if name[:2] in ("09", "10"):
        from geobench.released import record_files, released_folder

        files += record_files(released_folder(params.released_dir))
    return files


def _searched(params: Params, folder: Path, name: str) -> list[Path]:
    """What the search track's read: the corpus; from 12 the chosen instances; in 12 the readers' labels; from 14 the guard and the
    answers; in 15 the rest."""
    from geobench.search import grading

    embedded, search = (paths.ROOT / "data" / "embedded" / "search").glob("*.jsonl"), folder / "search"
    own = paths.ROOT / params.search_corpus
    files = [*sorted(embedded), own / "instances.jsonl", own / "training.jsonl"]
    files += sorted(f for f in Path(params.search_folder).rglob("*test*") if f.is_file()) if params.search_folder else []
    kept = ("guard.json", "prototypes.safetensors", "model.safetensors")
    files += [paths.ROOT / params.search_guard_folder / file for file in kept] if params.search_guard_folder else []
    files += [search / "instances.jsonl", search / "training.jsonl"] if name >= "12" else []
    files += [grading.LABELS, *sorted(search.glob("labels*.csv"))] if name[:2] == "12" else []
    if name >= "14":
        files += [search / "guard" / "guard.json", search / "contexts.jsonl", *sorted(search.glob("answers/*.jsonl"))]
    if name >= "15":
        printed = paths.ROOT / "data" / "published" / "search_track.yaml"
        files += [*sorted(search.glob("de*/*.jsonl")), search / "gate.jsonl", *sorted(folder.glob("edits/*.jsonl")), printed]
    return files


# what a notebook fills, and leaves as it is once it is full
RECORDS = {"05": "ranks/", "06": "scores/"} | dict.fromkeys(("02", "03", "04"), "edits/")
RECORDS |= dict.fromkeys(("11", "12", "13", "14"), "search/")


def files(folder: Path) -> dict[str, int]:
    """Time of change of each result file of a run, by path within it."""
    kinds = ("edits", "ranks", "scores", "ladder", "search", "tables", "figures", "notebooks")
    found = [file for kind in kinds for file in (folder / kind).rglob("*") if file.is_file()]
    found += [file for file in (folder / "catalog.jsonl", folder / "released_per_target.csv") if file.exists()]
    return {str(file.relative_to(folder)): file.stat().st_mtime_ns for file in found if ".checkpoints" not in file.parts}


def outputs(name: str, before: dict[str, int], after: dict[str, int]) -> list[str]:
    """Files that a notebook wrote between two looks, and the records that it found complete: without them it is not reused."""
    mine = RECORDS.get(name[:2])
    return sorted(f for f, time in after.items() if before.get(f) != time or (mine and f.startswith(mine)))


# what a notebook writes anew each time, so that one opened by hand with other parameters overwrites it; records know what made them
WHOLE = ("tables/", "figures/", "catalog.jsonl", "released_per_target.csv", "search/instances.jsonl", "search/training.jsonl")


def seal(folder: Path, made: list[str]) -> dict[str, str]:
    """Digest of each file among a notebook's outputs that it wrote whole, to be kept in its manifest."""
    return {file: hashlib.sha256((folder / file).read_bytes()).hexdigest()[:16] for file in made if file.startswith(WHOLE)}


def intact(folder: Path, kept: dict) -> bool:
    """Whether all outputs of a manifest are there, and those that it sealed are what they were."""
    there = all((folder / file).exists() for file in kept.get("outputs", ()))
    return there and seal(folder, kept.get("outputs", [])) == kept.get("sealed", {})
