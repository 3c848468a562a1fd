"""Training the guard's encoder: multiple-negatives ranking with explicit hard negatives.

Anchor: a chunk of an ID document. Positives: ID chunks of other documents that share an attack category. Negatives in the `explicit`
form: the batch's IP chunks (its own pair and others), clean chunks and borderline ID chunks; an ID document that shares no category is
neither. The `in_batch` form is sentence-transformers' plain loss, in which a batch's other ID documents are negatives by accident.
"""

from dataclasses import dataclass

import numpy as np
import torch

from geobench import progress
from geobench.errors import GeoBenchError, nearest
from geobench.search.defences.pool import Part

LOSSES = ("explicit", "in_batch")


@dataclass(frozen=True)
class Settings:
    """`batch`: documents (each with its chunks in three states) per step; `rate`: peak learning rate."""

    loss: str = "explicit"
    epochs: int = 3
    batch: int = 16
    rate: float = 5e-5
    scale: float = 20.0
    seed: int = 0


def positives(rows: list[Part], near: set[str]) -> np.ndarray:
    """[texts, texts] True where the column is a positive of the row: both ID, other documents, a shared category, none borderline."""
    n = len(rows)
    mask = np.zeros((n, n), dtype=bool)
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            attack = a.state == b.state == "id" and not {a.name, b.name} & near
            mask[i, j] = attack and a.name != b.name and bool(set(a.labels) & set(b.labels))
    return mask


def negatives(rows: list[Part], near: set[str]) -> np.ndarray:
    """[texts] True for IP, clean and borderline ID chunks."""
    return np.array([r.state in ("ip", "clean") or (r.state == "id" and r.name in near) for r in rows])


def explicit_loss(vectors: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor, scale: float) -> torch.Tensor:
    """Mean over (anchor, positive) pairs of -log(e^(s cos+) / (e^(s cos+) + sum over negatives e^(s cos-))); vectors are unit rows.

    Zero (with a gradient of zero) where a batch has no pair.
    """
    cosines = scale * (vectors @ vectors.T)
    against = cosines.masked_fill(~negative[None, :], -torch.inf).logsumexp(dim=1)
    rows, columns = positive.nonzero(as_tuple=True)
    if len(rows) == 0:
        return vectors.sum() * 0.0
    pair = cosines[rows, columns]
    return (torch.logaddexp(pair, against[rows]) - pair).mean()


def batches(names: list[str], size: int, seed: int, epoch: int) -> list[list[str]]:
    """Documents of an epoch in seeded order; a last batch of one joins the one before."""
    order = [names[n] for n in np.random.default_rng([seed, epoch]).permutation(len(names))]
    cut = [order[n : n + size] for n in range(0, len(order), size)]
    if len(cut) > 1 and len(cut[-1]) == 1:
        last = cut.pop()
        cut[-1] += last
    return cut


def train(model, rows: list[Part], near: set[str], settings: Settings, say=lambda _: None) -> list[float]:
    """Fine-tune a SentenceTransformer in place on training chunks (states clean, ip, id); returns the mean loss of each epoch.

    The same seed and thread count give the same weights; the caller's random state is untouched.
    """
    if settings.loss not in LOSSES:
        raise GeoBenchError(f"search_guard_loss: unknown loss `{settings.loss}`.{nearest(settings.loss, LOSSES)}")
    names = list(dict.fromkeys(r.name for r in rows))
    steps = settings.epochs * len(batches(names, settings.batch, settings.seed, 0))
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=0.01)
    warm, stepped = max(1, steps // 10), progress.loop(steps)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min((s + 1) / warm, max(0.0, (steps - s) / max(1, steps - warm))))
    history = []
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        model.train()
        for epoch in range(settings.epochs):
            losses = []
            for chosen in batches(names, settings.batch, settings.seed, epoch):
                wanted = [r for r in rows if r.name in set(chosen)]
                loss = _step(model, wanted, near, settings, (settings.seed, epoch, len(losses)))
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimiser.step()
                schedule.step()
                losses.append(loss.item())
                stepped()
            history.append(float(np.mean(losses)))
            say(f"epoch {epoch + 1}: loss {history[-1]:.3f}")
        model.eval()
    return history


def _step(model, rows: list[Part], near: set[str], settings: Settings, draw: tuple) -> torch.Tensor:
    positive, negative = positives(rows, near), negatives(rows, near)
    if settings.loss == "explicit":
        return explicit_loss(encode(model, [r.text for r in rows]), torch.from_numpy(positive), torch.from_numpy(negative), settings.scale)
    anchors, matched, paired = in_batch_rows(rows, positive, np.random.default_rng(draw))
    if not anchors:
        return encode(model, [rows[0].text]).sum() * 0.0
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    columns = [[rows[i].text for i in part] for part in (anchors, matched, paired)]
    loss = MultipleNegativesRankingLoss(model, scale=settings.scale)
    return loss([_features(model, c) for c in columns], None)


def in_batch_rows(rows: list[Part], positive: np.ndarray, generator) -> tuple[list[int], list[int], list[int]]:
    """(anchor, drawn positive, paired IP) places: one per ID document that has a positive in the batch."""
    anchors, matched, paired = [], [], []
    for i, row in enumerate(rows):
        others = np.flatnonzero(positive[i])
        own = [n for n, r in enumerate(rows) if r.name == row.name and r.state == "ip"]
        if len(others) and own:
            anchors.append(i)
            matched.append(int(generator.choice(others)))
            paired.append(own[0])
    return anchors, matched, paired


def _features(model, texts: list[str]) -> dict:
    features = model.preprocess(texts)
    return {k: v.to(model.device) if isinstance(v, torch.Tensor) else v for k, v in features.items()}


def encode(model, texts: list[str]) -> torch.Tensor:
    """[texts, D] unit vectors with gradients."""
    return torch.nn.functional.normalize(model(_features(model, texts))["sentence_embedding"], dim=-1)
