"""What every ranker is given and gives back: a job (a list, clean or with one edited description, under some orders) to ranks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from geobench.lists import RankList, one_line

Texts = list[str]  # inside Job, `list` is its field


@dataclass(frozen=True)
class Job:
    """Rank `list` once per order; `target` (1-based) carries `text` instead of its own description. target None: clean."""

    list: RankList
    orders: tuple[tuple[int, ...], ...]
    target: int | None = None
    text: str | None = None
    variant: str = "clean"

    @property
    def name(self) -> str:
        """How errors call it."""
        where = f"{self.list.key}"
        return where if self.target is None else f"{where} item {self.target} ({self.list.items[self.target - 1].name}), {self.variant}"

    def texts(self) -> Texts:
        """The L descriptions as ranked, whitespace collapsed, in file order."""
        texts = [item.description for item in self.list.items]
        if self.text is not None and self.target is not None:
            texts[self.target - 1] = self.text
        return [one_line(text) for text in texts]

    def names(self) -> Texts:
        return [one_line(item.name) for item in self.list.items]

    def control_tokens(self, engine) -> Texts:
        """The control tokens that the names and descriptions spell, which the engine breaks; none for a ranker without an engine."""
        control = getattr(engine, "control", None)
        return [token for text in (*self.names(), *self.texts()) for token in control.found(text)] if control else []


@dataclass(frozen=True)
class Ranking:
    """Per order k: `ranks[k][i]` of item i (1..L, L+1 if missing); scores (higher is better) or replies with their status and
    how each ended (engines.reply.Reply)."""

    ranks: list[list[int]]
    scores: list[list[float]] | None = None
    status: list[str] | None = None
    replies: list | None = None
    finish: list[str] | None = None


class Ranker(Protocol):
    """A model and a read-out. `order_free` rankers do not see the order, so one order is enough."""

    name: str
    order_free: bool

    def identity(self) -> dict:
        """What determines its ranks."""

    def fit(self, job: Job) -> Texts | None:
        """Before anything is computed: GeoBenchError, naming the item and its tokens, where the job does not fit the model; what of it
        is not read to its end."""

    def rank(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Ranking]]:
        """Each job with its ranking, as finished; jobs of one list should come together, the clean one first."""


def ranks_of(scores) -> list[int]:
    """1 + the number of strictly higher scores, so that ties share the better rank. scores: [L]."""
    scores = np.asarray(scores)
    return [int((scores > s).sum()) + 1 for s in scores]
