"""Read-out `generate` for long lists: sliding windows, as in listwise re-ranking (Sun et al. 2023).

The last `window` items of the shown order are ranked first; the window then moves by `stride` towards the head, so that the best of
each window compete in the next. The last window always begins at the head: no item is left out, whatever the length. Items that a
reply does not name keep their order behind those it names; the last window that shows an item says whether it is missing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from geobench.engines.chat_prompt import ChatPrompts
from geobench.errors import GeoBenchError
from geobench.parsing import STATUSES
from geobench.rankers.base import Job, Ranking
from geobench.rankers.generate import GenerateRanker, read_reply


def spans(size: int, window: int, stride: int | None = None) -> list[tuple[int, int]]:
    """[begin, end) of each window over a list, from its end to its head. stride None: half a window."""
    stride, end, found = stride or max(1, window // 2), size, []
    while not found or found[-1][0] > 0:
        found.append((max(0, end - window), end))
        end -= stride
    return found


def require(window: int | None, stride: int | None) -> None:
    """GeoBenchError for a stride without a window, or one that lets items between two windows go unseen together."""
    if stride is not None and (window is None or stride >= window):
        raise GeoBenchError(f"generate_stride: expected less than generate_window, got {stride} with generate_window={window}")


@dataclass
class Walk:
    """One order of one job on its way through the windows."""

    job: int
    order: list[int]
    missing: set[int] = field(default_factory=set)
    replies: list[str] = field(default_factory=list)
    finish: list[str] = field(default_factory=list)
    status: list[str] = field(default_factory=list)

    def take(self, begin: int, end: int, order: list[int], reply, status: str) -> None:
        """Reorder a window by what its reply named. order: places inside the window, best first."""
        shown = self.order[begin:end]
        named = [shown[i] for i in order]
        rest = [i for i in shown if i not in named]
        self.order[begin:end] = named + rest
        self.missing = self.missing - set(named) | set(rest)
        self.replies.append(reply.text)
        self.finish.append(reply.finish)
        self.status.append(status)

    def ranks(self) -> list[int]:
        """[L] ranks in file order, L+1 for a missing item."""
        placed = [i for i in self.order if i not in self.missing]
        return [placed.index(i) + 1 if i in placed else len(self.order) + 1 for i in range(len(self.order))]


class WindowRanker(GenerateRanker):
    """Like GenerateRanker; `replies[k]` holds the replies of all windows of order k, and the status is that of the worst."""

    def __init__(self, name, engine, tokens=512, parse_mode="default", structure=None, window: int = 20, stride: int | None = None):
        super().__init__(name, engine, tokens, parse_mode, structure)
        self.window, self.stride = window, stride

    def identity(self) -> dict:
        return {**super().identity(), "window": self.window, "stride": self.stride or max(1, self.window // 2)}

    def fit(self, job: Job) -> None:
        """GeoBenchError where the longest items, which can meet in one window, do not fit."""
        lines = [f"{name} {text}" for name, text in zip(job.names(), job.texts())]
        if isinstance(self.engine, ChatPrompts):
            sizes = [len(ids) for ids in self.engine.tokenizer(lines, add_special_tokens=False)["input_ids"]]
        else:  # an API, which does not say: its engine estimates tokens from characters as well
            sizes = list(map(len, lines))
        longest = sorted(range(len(lines)), key=lambda i: -sizes[i])[: self.window]
        super().fit(replace(job, orders=(tuple(sorted(longest)),)))

    def rank(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Ranking]]:
        jobs = iter(jobs)
        while group := list(islice(jobs, max(1, self.engine.batch_size))):
            walks = [Walk(n, list(order)) for n, job in enumerate(group) for order in job.orders]
            paths = [spans(len(walk.order), self.window, self.stride) for walk in walks]
            for step in range(max(map(len, paths))):
                self._step(group, [(walk, *path[step]) for walk, path in zip(walks, paths) if step < len(path)], step)
            for n, job in enumerate(group):
                yield job, _ranking([walk for walk in walks if walk.job == n])

    def _step(self, group: list[Job], moves: list[tuple[Walk, int, int]], step: int) -> None:
        """One window of every walk, together."""
        asks = [(walk.job, tuple(walk.order[begin:end])) for walk, begin, end in moves]
        names = [f"{group[n].name}, window {step + 1}" for n, _ in asks]
        prompts = [self.messages(group[n], shown) for n, shown in asks]
        replies = self.engine.generate(prompts, self.decoding, names=names, **self._form(group, asks))
        for (walk, begin, end), (n, shown), reply in zip(moves, asks, replies):
            listed = group[n].names()
            parsed = read_reply(reply.text, [listed[i] for i in shown], reply.finish, self.parse_mode, self.structure)
            walk.take(begin, end, parsed.order, reply, parsed.status)


def _ranking(walks: list[Walk]) -> Ranking:
    worst = [min(walk.status, key=STATUSES.index) for walk in walks]
    ends = [next((end for end in ("filtered", "length") if end in walk.finish), "stop") for walk in walks]
    return Ranking([walk.ranks() for walk in walks], status=worst, replies=[walk.replies for walk in walks], finish=ends)
