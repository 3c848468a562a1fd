"""The guard of a run: train it once into `<run>/search/guard`, set the thresholds of all text detectors, and open them again."""

import json
from functools import cached_property
from pathlib import Path

import numpy as np

from geobench.errors import GeoBenchError
from geobench.models import open_model, spec
from geobench.run import sha
from geobench.search.chunking import require_room
from geobench.search.corpus import load_triples
from geobench.search.defences import baselines, guard, pool, training
from geobench.search.defences.base import threshold

DETECTORS = ("guard", "frozen", "tfidf", "encoder_lr")
LEARNT = ("clean", "ip", "id")


def read_part(p, search_folder: Path) -> list:
    """The training part: the embedded one, training.jsonl of `search_corpus`, or the one that notebook 11 made of public queries, which
    may be empty."""
    made = {"embedded": "", "geo_bench": search_folder}.get(p.search_corpus, p.search_corpus)
    own = Path(str(made)) / "training.jsonl" if made else None
    if p.search_corpus == "geo_bench" and not own.exists():
        raise GeoBenchError(f"no training part in {search_folder}: run notebook 11_search_data first (./run_all.sh --only 11_search_data)")
    if p.search_corpus == "geo_bench" and not own.stat().st_size:
        return []
    return load_triples(own if own and own.exists() else None)


def load_part(p, search_folder: Path) -> list:
    """The training part, checked."""
    triples = read_part(p, search_folder)
    pool.check_triples(triples)
    return triples


class GuardRun:
    """`folder` is `<run>/search/guard`; the training part is the embedded one, or training.jsonl of `search_corpus`."""

    def __init__(self, work):
        self.p, self.folder = work.params, Path(work.folder) / "search" / "guard"

    @cached_property
    def triples(self):
        return load_part(self.p, self.folder.parent)

    @cached_property
    def encoder(self):
        """The untrained encoder; GeoBenchError for a model that is no encoder."""
        if spec(self.p.search_guard_encoder).kind != "bi_encoder":
            row = spec(self.p.search_guard_encoder)
            raise GeoBenchError(f"search_guard_encoder: expected an encoder (kind `bi_encoder`), got `{row.name}`, a `{row.kind}`")
        return open_model(self.p.search_guard_encoder)

    def parts(self, triples, states=("clean", "ip", "id", "control")) -> list[pool.Part]:
        require_room(self.encoder.model, self.p.search_chunk_tokens)
        return pool.parts(triples, self.encoder.model.tokenizer, self.p.search_chunk_tokens, self.p.search_chunk_overlap, states)

    @cached_property
    def frozen(self) -> guard.Remembered:
        """The untrained encoder for frozen detectors."""
        return guard.Remembered(self.encoder.model)

    @cached_property
    def halves(self) -> tuple[list, list]:
        """(training, held out for tau) triples, no topic in both."""
        return pool.split(self.triples, self.p.search_guard_holdout, self.p.seed)

    @cached_property
    def near(self) -> set[str]:
        """Borderline ID documents."""
        return pool.borderline(self.triples, lambda texts: guard.batch_embed(self.frozen, texts))

    def settings(self) -> training.Settings:
        p = self.p
        return training.Settings(
            p.search_guard_loss, p.search_guard_epochs, p.search_guard_batch, p.search_guard_rate, p.search_guard_scale, p.seed
        )

    def facts(self) -> dict:
        """What determines the trained guard, as its card says it."""
        p = self.p
        rows = "\n".join(sorted(t.model_dump_json() for t in self.triples))
        encoder = spec(p.search_guard_encoder).identity()
        return {
            "encoder": encoder["weights"], "encoder_revision": encoder["revision"], **self.settings().__dict__,
            "holdout": p.search_guard_holdout, "false_positive_rate": p.search_guard_fpr, "fixed_tau": p.search_guard_tau,
            "chunk_tokens": p.search_chunk_tokens, "chunk_overlap": p.search_chunk_overlap, "training_part": sha(rows),
        }  # fmt: skip

    def train(self, say=print) -> guard.Guard:
        """The trained guard; an earlier one from the same facts, or that of `search_guard_folder`, is loaded instead."""
        made = self._kept()
        if made is None:
            model = fresh(self.p.search_guard_encoder)
            rows = self.parts(self.halves[0], LEARNT)
            training.train(model, rows, self.near, self.settings(), say)
            made = guard.Guard(model, guard.fit(model, rows, self.near), 0.0, self.facts())
            made.tau = self.tau(made)
            made.save(self.folder)
        return made

    def _kept(self):
        if self.p.search_guard_folder:
            return guard.load_guard(Path(self.p.search_guard_folder))
        file = self.folder / "guard.json"
        if file.exists() and json.loads(file.read_text("utf-8")).get("facts") == json.loads(json.dumps(self.facts())):
            return guard.load_guard(self.folder)
        return None

    def tau(self, detector) -> float:
        """The fixed tau of a guard, or the least at which the rate of held-out clean and IP chunks is blocked."""
        if self.p.search_guard_tau is not None and isinstance(detector, guard.Guard):
            return self.p.search_guard_tau
        return threshold(scores_of(detector, [r.text for r in self.parts(self.halves[1], ("clean", "ip"))]), self.p.search_guard_fpr)

    def open(self) -> dict:
        """Guard and baselines by name, each with its tau; GeoBenchError where no guard was trained."""
        made = self._kept()
        if made is None:
            raise GeoBenchError(f"no guard of these settings in {self.folder}: run notebook 13_guard first (./run_all.sh --only 13_guard)")
        found = {"guard": made} | untrained(self.frozen, self.parts(self.halves[0], LEARNT), self.near, self.p.seed)
        for name in DETECTORS[1:]:
            found[name].tau = self.tau(found[name])
        return found


def fresh(name: str):
    """A new SentenceTransformer of a registered encoder, apart from the shared one, so that training changes nothing else."""
    from geobench.engines.encoders import Encoder

    return Encoder(spec(name)).model


def untrained(model, rows, near, seed: int = 0) -> dict:
    """The three baselines, fitted on training chunks."""
    frozen = guard.Guard(model, guard.fit(model, rows, near), 0.0, name="frozen")
    return {"frozen": frozen, "tfidf": baselines.tfidf(rows, seed), "encoder_lr": baselines.embedded(model, rows, seed)}


def scores_of(detector, texts: list[str]) -> np.ndarray:
    """[texts] scores of a guard or a classifier."""
    if not hasattr(detector, "scores"):
        raise GeoBenchError(f"defence `{detector.name}`: expected `scores(texts)` beside `decide`, which notebook 15 compares")
    made = detector.scores(texts)
    return np.asarray(made[0] if isinstance(made, tuple) else made, dtype=float)
