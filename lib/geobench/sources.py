"""Public data sets: fetched from where their authors put them, pinned by commit and content, never committed.

data/sources.yaml says where each list is and what it must contain. A file comes from GEOBENCH_DATA_MIRROR
where that is set and holds it, else from the cache or the network (pooch). Two lists of RewriteToRank are not
pinned because we have not seen them: where they cannot be had, a warning names them and the others are given.
"""

import json
import os
import shlex
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from geobench import paths
from geobench.errors import GeoBenchError, came, nearest
from geobench.lists import RankList, natural, read_list_file, read_rows
from geobench.yaml_values import read_mapping


@dataclass(frozen=True)
class Source:
    """One data set of sources.yaml; `files` maps a list to its pin: {"sha256"}, {"content_sha256"} or {}."""

    name: str
    title: str
    repository: str
    commit: str
    path: str
    licence: str
    mirror: str
    converter: str
    lists: int
    items: int
    note: str
    files: Mapping[str, Mapping[str, str]]


@cache
def _registry() -> dict:
    return read_mapping(paths.SOURCES)


def public_datasets() -> dict[str, Source]:
    """The public data sets by name, in the order of the paper's tables."""
    return {name: Source(name=name, **entry) for name, entry in _registry()["datasets"].items()}


def load_public(name: str, base_url: str | None = None, cache_dir: Path | None = None) -> list[RankList]:
    """Lists of a public data set in the order of sources.yaml, every pinned file checked.

    base_url stands for the host of the downloads (default: GEOBENCH_DATA_URL, else the one in sources.yaml).
    Raises GeoBenchError where a pinned file cannot be had (with the command that gets it) or has other
    content; warns with the names of the unpinned lists that are missing.
    """
    source = public_datasets().get(name)
    if source is None:
        raise GeoBenchError(f"unknown public data set {came(name)}.{nearest(name, public_datasets())}")
    base_url = base_url or os.environ.get("GEOBENCH_DATA_URL") or _registry()["base"]
    cache_dir = Path(cache_dir or paths.CACHE / "data")
    found = [_find(source, lst, base_url, cache_dir) for lst in source.files]
    convert = CONVERTERS[source.converter]
    lists = [read_list_file(file, name, convert=convert, strict=False) for file in found if file]
    if absent := missing_lists(name, lists):
        message = f"{name}: {len(absent)} of {source.lists} lists are missing: {', '.join(absent)}."
        warnings.warn(message, stacklevel=2)
    return lists


def missing_lists(name: str, lists: list[RankList]) -> list[str]:
    """Names of the data set's published lists that are not among `lists`."""
    have = {lst.name for lst in lists}
    return [lst for lst in public_datasets()[name].files if lst not in have]


def _find(source: Source, lst: str, base_url: str, cache_dir: Path) -> Path | None:
    """Checked local file of one list; None for an unpinned one that cannot be had."""
    pin = source.files[lst]
    if file := _in_mirror(source, lst):
        if reason := _differs(file, pin):
            raise GeoBenchError(f"{file}: {reason}")
        return file
    if not pin and paths.mirror():  # a mirror says what there is: no search on the network for more
        return None
    where = f"{source.repository}/{source.commit}/{source.path}/{lst}.jsonl"
    url = f"{base_url.rstrip('/')}/{quote(where)}"
    target = cache_dir / source.name / source.commit[:8] / f"{lst}.jsonl"
    try:
        return _download(url, target, pin)
    except OSError as error:
        if not pin:
            return None
        raise GeoBenchError(
            f"{source.name}: list `{lst}` is not in GEOBENCH_DATA_MIRROR ({paths.mirror() or 'not set'}) and "
            f"cannot be downloaded ({came(error, 120)}); set GEOBENCH_DATA_MIRROR to the folder that holds "
            f"catalogs/{source.mirror}/{lst}.jsonl, or run: "
            f"curl -fL --create-dirs -o {shlex.quote(str(target))} {shlex.quote(url)}"
        ) from None


def _in_mirror(source: Source, lst: str) -> Path | None:
    """The list's file in the mirror, which is the folder that holds `catalogs` or `catalogs` itself."""
    mirror = paths.mirror()
    if mirror is None:
        return None
    if not mirror.is_dir():
        raise GeoBenchError(f"GEOBENCH_DATA_MIRROR: expected a folder, got {came(mirror)}.")
    candidates = (mirror / "catalogs" / source.mirror, mirror / source.mirror)
    return next((file for folder in candidates if (file := folder / f"{lst}.jsonl").is_file()), None)


def _download(url: str, target: Path, pin: Mapping[str, str]) -> Path:
    """The file at `target`, downloaded where it is not there as pinned; raises OSError where that fails."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    if target.exists() and _differs(target, pin):
        target.unlink()
    known = f"sha256:{pin['sha256']}" if "sha256" in pin else None
    try:
        pooch.retrieve(url, known, target.name, target.parent, downloader=pooch.HTTPDownloader(timeout=30))
    except ValueError as error:  # pooch found another hash and kept no file
        if isinstance(error, OSError):  # requests found the URL impossible
            raise
        raise GeoBenchError(f"{url}: not the pinned file, expected {known} ({came(error)}).") from None
    if reason := _differs(target, pin):
        target.unlink()  # else the next run would find it
        raise GeoBenchError(f"{url}: {reason}")
    return target


def _differs(file: Path, pin: Mapping[str, str]) -> str | None:
    """Why `file` is not the pinned one; None where it is, or where nothing is pinned."""
    for kind, expected in pin.items():
        try:
            got = content_sha(read_rows(file)) if kind == "content_sha256" else _file_sha(file)
        except GeoBenchError as error:
            return f"not the pinned content: {error}"
        if got != expected:
            return f"not the pinned content, expected {kind} {expected}, got {got}."
    return None


def _file_sha(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def content_sha(rows: list[dict]) -> str:
    """SHA-256 of parsed lines as canonical JSON: the same for LF and CRLF, any key order and any escaping."""
    text = json.dumps(rows, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def fields(row: Mapping) -> tuple[str, str]:
    """Name and description of a free-form row: `Natural` or `description`, else all fields as "key: value".

    Keys are matched exactly, as in the release: LLM Rank Optimizer's `Description` is one field of many.
    """
    rest = {key: value for key, value in row.items() if key not in ("Name", "name")}
    text = rest.get("Natural") or rest.get("description")
    text = text or "; ".join(f"{key}: {value}" for key, value in rest.items())
    return str(row.get("Name", row.get("name", ""))), str(text)


CONVERTERS = {"natural": natural, "fields": fields}
