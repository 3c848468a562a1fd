"""C-GEO Guard: an encoder, one prototype per attack category, and a threshold; score = the largest cosine to a prototype.

A guard in a folder is a sentence-transformers model (safetensors), `prototypes.safetensors`, `guard.json` and a model card. It loads
without this project's data and applies to any text.
"""

import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from geobench.errors import GeoBenchError, came
from geobench.json_values import parse_json
from geobench.search.chunking import chunk
from geobench.search.defences.base import Decision, by_score
from geobench.search.defences.pool import Part


def prototypes(vectors: np.ndarray, labels: list[tuple[str, ...]]) -> dict[str, np.ndarray]:
    """Per category the normalised sum of the vectors of its chunks; a chunk counts for each of its document's labels.

    vectors: [chunks, D] unit rows. GeoBenchError for one category or none.
    """
    names = sorted({label for row in labels for label in row})
    if len(names) < 2:
        raise GeoBenchError(f"prototypes: expected chunks of two categories or more, got {', '.join(names) or 'none'}")
    sums = {name: vectors[[name in row for row in labels]].sum(axis=0) for name in names}
    return {name: (total / max(np.linalg.norm(total), 1e-12)).astype(np.float32) for name, total in sums.items()}


def batch_embed(model, texts: list[str], batch_size: int = 32) -> np.ndarray:
    """[texts, D] float32 unit vectors; texts of like length share a padded batch, equal texts are embedded once."""
    unique = list(dict.fromkeys(texts))
    if not unique:
        return np.zeros((0, model.get_embedding_dimension()), dtype=np.float32)
    settings = {"batch_size": batch_size, "normalize_embeddings": True, "convert_to_numpy": True, "show_progress_bar": False}
    made = dict(zip(unique, model.encode(unique, **settings)))
    return np.stack([made[t] for t in texts])


class Remembered:
    """An encoder that embeds each text once in its life: contexts, conditions and configurations share most of their chunks."""

    def __init__(self, model):
        self.model, self.tokenizer, self._known = model, model.tokenizer, {}

    def get_embedding_dimension(self) -> int:
        return self.model.get_embedding_dimension()

    def encode(self, texts: list[str], **settings) -> np.ndarray:
        new = [t for t in dict.fromkeys(texts) if t not in self._known]
        if new:
            self._known |= dict(zip(new, self.model.encode(new, **settings)))
        return np.stack([self._known[t] for t in texts])


@dataclass
class Guard:
    """`facts`: what the card and `guard.json` say (training settings, threshold's rate, chunk size)."""

    model: Any
    prototypes: dict[str, np.ndarray]
    tau: float
    facts: dict = field(default_factory=dict)
    name: str = "guard"
    batch_size: int = 32

    def __post_init__(self):
        self.encoder = self.model if isinstance(self.model, Remembered) else Remembered(self.model)

    def identity(self) -> dict:
        return {"defence": self.name, "tau": self.tau, "prototypes": _digest(self.prototypes)} | {k: v for k, v in self.facts.items()}

    def scores(self, texts: list[str]) -> tuple[np.ndarray, list[str]]:
        """([texts] largest cosine to a prototype, the category of that prototype), texts taken as they are."""
        names = list(self.prototypes)
        cosines = batch_embed(self.encoder, texts, self.batch_size) @ np.stack([self.prototypes[n] for n in names]).T
        best = cosines.argmax(axis=1) if len(texts) else []
        return cosines.max(axis=1) if len(texts) else np.zeros(0), [names[b] for b in best]

    def decide(self, texts: list[str], documents: list[int] | None = None) -> list[Decision]:
        """One decision per text, in order."""
        return [by_score(float(s), self.tau, label) for s, label in zip(*self.scores(texts))]

    def check(self, text: str) -> list[dict]:
        """The decisions on a document's chunks: place, text's start, score, category, blocked."""
        found = chunk(text, self.model.tokenizer, self.facts.get("chunk_tokens", 512), self.facts.get("chunk_overlap", 128))
        rows = zip(found, self.decide([c.text for c in found]))
        return [
            {"chunk": c.number, "start": c.start, "end": c.end, "score": d.score, "category": d.detail, "blocked": d.blocked()}
            for c, d in rows
        ]

    def save(self, folder: Path) -> Path:
        """Write the folder; existing files are replaced."""
        from safetensors.numpy import save_file

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.model.save(str(folder), create_model_card=False, safe_serialization=True)
        save_file({k: np.ascontiguousarray(v) for k, v in self.prototypes.items()}, str(folder / "prototypes.safetensors"))
        content = {"tau": self.tau, "name": self.name, "facts": self.facts}
        (folder / "guard.json").write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")
        (folder / "README.md").write_text(card(self), "utf-8")
        return folder


def load_guard(folder: Path) -> Guard:
    """A saved guard; GeoBenchError that names the missing or damaged file."""
    from safetensors.numpy import load_file
    from sentence_transformers import SentenceTransformer

    folder = Path(folder)
    for name in ("guard.json", "prototypes.safetensors", "model.safetensors", "modules.json", "tokenizer.json"):
        if not (folder / name).exists():
            raise GeoBenchError(f"guard {folder}: no {name}; train one with ./run_all.sh --only 11 13, or give --model FOLDER")
    try:
        content = parse_json((folder / "guard.json").read_bytes())
        tau, facts, name = float(content["tau"]), dict(content["facts"]), str(content["name"])
    except (ValueError, KeyError, TypeError) as error:
        raise GeoBenchError(f"guard {folder}: guard.json is damaged: {came(error, 80)}") from error
    if not math.isfinite(tau):
        raise GeoBenchError(f"guard {folder}: guard.json is damaged: tau is {tau}")
    try:
        return Guard(SentenceTransformer(str(folder), device="cpu"), load_file(str(folder / "prototypes.safetensors")), tau, facts, name)
    except Exception as error:  # of safetensors, transformers or tokenizers, each with a class of its own
        raise GeoBenchError(f"guard {folder}: its files are damaged: {type(error).__name__} {came(error, 120)}") from error


def fit(model, rows: list[Part], near: set[str], batch_size: int = 32) -> dict[str, np.ndarray]:
    """Prototypes from the pool's ID chunks, borderline documents left out."""
    attack = [r for r in rows if r.state == "id" and r.name not in near]
    return prototypes(batch_embed(model, [r.text for r in attack], batch_size), [r.labels for r in attack])


def _digest(vectors: dict[str, np.ndarray]) -> str:
    return hashlib.sha256(b"".join(k.encode() + v.tobytes() for k, v in sorted(vectors.items()))).hexdigest()[:16]


def card(guard: Guard) -> str:
    """The model card: what it is, how it was made, what it must not be taken for."""
    facts = "\n".join(f"| {k} | {v} |" for k, v in sorted(guard.facts.items()))
    return f"""---
library_name: sentence-transformers
tags: [generative-search, guard, counter-geo]
---
# C-GEO Guard

Flags chunks of web pages that were rewritten to plant a false claim in the answers of a generative search engine. Score: the largest
cosine to one of {len(guard.prototypes)} category prototypes ({", ".join(guard.prototypes)}); blocked at {guard.tau:.4f} or more.

| setting | value |
|---|---|
{facts}

**Use**: `python -m geobench guard FILE --model FOLDER`, or `geobench.search.defences.guard.load_guard(FOLDER).check(text)`.

**Limits**: trained on few texts of one author. It was compared with a control in which the *true* claim stands in the attack's style; where
that is blocked as often as the attack, the guard reads style, not truth. It knows no facts and must not be used to judge a person.
"""
