"""`python -m geobench doctor`: what is here, what is missing, and how to mend it."""

import os
import sys

from geobench import paths

EMBEDDED = ["smollm2-135m", "minilm"]


def fetch() -> int:
    """Fetch the embedded models' weights."""
    from geobench.weights import fetch_all

    print("\n".join(fetch_all(EMBEDDED)))
    return 0


def main() -> int:
    """Print one line per check; exit status 1 if something needed is missing."""
    lines = [*_versions(), *_weights(), *_heads(), *_data(), *_folders(), *_settings()]
    for good, text in lines:
        print(("ok    " if good else "MEND  ") + text)
    return 0 if all(good for good, _ in lines) else 1


def _versions():
    from importlib.metadata import PackageNotFoundError, version

    good = (3, 11) <= sys.version_info[:2] <= (3, 12)
    yield good, f"Python {sys.version.split()[0]}" + ("" if good else ": use 3.11 or 3.12 (PYTHON=... ./run_all.sh)")
    for package in ("torch", "transformers", "sentence-transformers", "papermill", "pandas"):
        try:
            yield True, f"{package} {version(package)}"
        except PackageNotFoundError:
            yield False, f"{package} is missing: delete .venv and run ./run_all.sh"
    import torch

    yield True, f"device: {torch.cuda.get_device_name() if torch.cuda.is_available() else f'CPU, {torch.get_num_threads()} threads'}"


def _weights():
    from geobench.models import spec
    from geobench.weights import folder_of

    for name in EMBEDDED:
        here = (folder_of(spec(name)) / ".complete").exists()
        yield here, f"weights of {name}: {folder_of(spec(name)) if here else 'missing: python -m geobench weights'}"


def _heads():
    from geobench import heads
    from geobench.errors import GeoBenchError
    from geobench.models import spec

    for file in sorted(heads.FOLDER.glob("*.yaml")):
        try:
            found = heads.head_file(spec(file.stem))
            yield True, f"heads of {file.stem}: {len(found.heads)}"
        except GeoBenchError as error:
            yield False, str(error)


def _data():
    from geobench.catalog import load_embedded

    lists = load_embedded()
    yield bool(lists), f"embedded data: {sum(map(len, lists.values()))} lists in {len(lists)} data sets"
    mirror = paths.mirror()
    good = mirror is None or mirror.exists()
    where = mirror or "not set (GEOBENCH_DATA_MIRROR); public lists are downloaded"
    yield good, f"public data mirror: {where}" + ("" if good else " does not exist")


def _folders():
    for folder in (paths.RESULTS, paths.CACHE):
        parent = next(f for f in (folder, *folder.parents) if f.exists())
        good = parent.is_dir() and os.access(parent, os.W_OK)
        yield good, f"{folder} is {'' if good else 'not '}writable" + ("" if good else ": set GEOBENCH_RESULTS or GEOBENCH_CACHE")


def _settings():
    """Whether the profiles have the papers' printed settings."""
    from geobench.published_settings import contradictions, read_settings

    lines = contradictions()
    for line in lines:
        yield False, line
    found = read_settings()
    if not lines:
        yield True, f"profiles: {len(found.settings)} settings as the papers print them, {len(found.exceptions)} different on purpose"
