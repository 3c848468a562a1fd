"""How to make a run, a table or a figure again: the command, the notebook that writes it, the records that feed it, what it ran on."""

import json
import os
import platform
import re
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from geobench import paths
from geobench.errors import GeoBenchError, came, faults, nearest
from geobench.inventory import FIGURES
from geobench.params import RESULT_FREE, Params, load, profiles
from geobench.yaml_values import read_mapping

RUN_NAME = re.compile(r"\w[\w.-]*")


def run_folder(run: str) -> Path:
    """`results/<run>`, whether it is there or not; GeoBenchError for what is no folder's name."""
    if not RUN_NAME.fullmatch(run):
        raise GeoBenchError(f"--run {came(run)}: expected a folder name of letters, digits, `.`, `_` and `-`, not starting with `.` or `-`")
    return paths.RESULTS / run


def folder_of(run: str) -> Path:
    """`results/<run>`; GeoBenchError, with the nearest name, if there is none."""
    folder = run_folder(run)
    if not folder.is_dir():
        known = sorted({f.parent.name for what in ("params.yaml", "tables") for f in paths.RESULTS.glob(f"*/{what}")})
        raise GeoBenchError(f"no run `{run}` in {paths.RESULTS}.{nearest(run, known) if known else ' Run ./run_all.sh first.'}")
    return folder


def read_params(folder: Path, *needed: str) -> dict:
    """The values of a run's params.yaml; empty where there is none. GeoBenchError where it is damaged, holds a value of another kind, or
    lacks what is `needed`; other names may be there or not, since versions differ."""
    file = Path(folder) / "params.yaml"
    if not file.exists():
        return {}
    if not (values := read_mapping(file)):
        raise GeoBenchError(f"{file}: expected a mapping of names to values, got nothing")
    try:
        Params.model_validate(values)
    except ValidationError as error:
        found = [e for e in error.errors() if e["loc"][0] in needed or e["type"] not in ("missing", "extra_forbidden")]
        if found:
            raise GeoBenchError(f"{file}: {faults(found)}") from None
    return values


def command(folder: Path) -> str:
    """The call of run_all.sh that makes this run: the profile that is nearest to its parameters, and what differs from it."""
    folder, saved = Path(folder), read_params(folder)
    found = []
    for profile in profiles():
        wanted = json.loads(json.dumps(load(profile).model_dump()))
        found.append(([f"-p {k}={_yaml(v)}" for k, v in saved.items() if k not in RESULT_FREE and wanted.get(k) != v], profile))
    changed, profile = min(found, key=lambda f: (len(f[0]), f[1] != "smoke", f[1]))
    name = [] if folder.name == profile else [f"--run {folder.name}"]
    return " ".join(["./run_all.sh", *([] if profile == "smoke" else [f"--profile {profile}"]), *changed, *name])


def _yaml(value) -> str:
    """A value as one shell word that YAML reads back."""
    import shlex

    return shlex.quote(json.dumps(value, ensure_ascii=False))


@cache
def _sources() -> dict[str, str]:
    """Code of each notebook, by name."""
    code = {}
    for file in sorted(paths.NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")):
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        code[file.stem] = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    return code


def notebook_of(name: str) -> str | None:
    """The notebook that writes a table or figure: the first whose code names it; None for what a command writes."""
    if name in FIGURES:
        return next((n for n, code in _sources().items() if "draw_all(" in code), None)
    quoted = f'"{name}"' if not name.startswith("v1_") else 'f"v1_{dataset}"'
    return next((n for n, code in _sources().items() if quoted in code), None)


class Manifest(BaseModel):
    """What one executed notebook left: its digest, seconds, dollars paid by then, machine, library versions, files; digests of tables."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)

    digest: str = ""
    seconds: float = 0
    dollars: float = 0
    machine: str = ""
    versions: dict[str, str] = {}
    outputs: list[str] = []
    sealed: dict[str, str] = {}


def manifest(file: Path) -> dict:
    """A notebook's manifest, as Manifest says; GeoBenchError where it is damaged."""
    try:
        made = Manifest.model_validate_json(file.read_bytes(), strict=True)
    except ValidationError as error:
        raise GeoBenchError(f"{file}: {faults(error.errors())}; its notebook must run again") from None
    return {"notebook": file.stem} | made.model_dump(exclude_unset=True)


def manifests(folder: Path, but=()) -> list[dict]:
    """One manifest per executed notebook, in order, without those of the notebooks `but`; GeoBenchError for a damaged one."""
    return [manifest(file) for file in sorted((Path(folder) / "manifests").glob("*.json")) if file.stem not in but]


@cache
def machine() -> str:
    """What this process runs on, in words: system, processor, and the GPUs that the driver lists."""
    there = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors{_processor()}"
    return "; ".join([f"{there}, Python {platform.python_version()}", *gpus()])


def _processor() -> str:
    """The processor's name in brackets, where the system gives it."""
    file = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*:\s*(.+)$", file.read_text(errors="replace"), re.MULTILINE) if file.exists() else None
    return f" ({named[1].strip()})" if named else ""


def gpus() -> list[str]:
    """`2 x NAME, MEMORY`, from nvidia-smi; empty without it."""
    if not shutil.which("nvidia-smi"):
        return []
    ask = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        said = subprocess.run(ask, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [f"{n} x {name}" for name, n in Counter(line.strip() for line in said.splitlines() if line.strip()).items()]


def dollars(folder: Path) -> float:
    """What a run has paid to API models so far, in US dollars, by the store of replies; 0 where there is no store."""
    from geobench.replies import ReplyStore, store_file

    if not store_file().exists():
        return 0.0
    store = ReplyStore()
    try:
        return round(store.spent(str(Path(folder).resolve())), 6)
    finally:
        store.close()
