"""Read-out `generate`, the papers' protocol: the model writes a numbered list of all names, greedily, and the reply is parsed.

Raw replies are kept with a typed parse status; a mended parser reads them again without the model (reparsing).
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from geobench.engines.decoding import Decoding
from geobench.parsing import Parsed, parse_ranking
from geobench.prompts import load_prompt, prompt_sha, render
from geobench.rankers import structure as structures
from geobench.rankers.base import Job, Ranking


class GenerateRanker:
    """Listwise ranker on any engine that generates. `tokens` bounds a reply; `parse_mode` is `default` or `released`; `structure`
    (rankers.structure) holds a reply to a form, on engines that can."""

    order_free = False

    def __init__(self, name: str, engine, tokens: int = 512, parse_mode: str = "default", structure: str | None = None):
        structures.require(structure, engine, name)
        self.name, self.engine, self.parse_mode, self.structure = name, engine, parse_mode, structure
        self.decoding = Decoding(tokens)
        self.prompt = load_prompt("ranking")

    def identity(self) -> dict:
        form = {"structure": self.structure, "form": prompt_sha("ranking_structured")} if self.structure else {}
        return {
            **self.engine.identity(), "read_out": "generate", "prompt": prompt_sha("ranking"), "parse_mode": self.parse_mode,
            "replies": "whole", **self.decoding.identity(), **form,
        }

    def messages(self, job: Job, order: tuple[int, ...]) -> list[dict]:
        """The ranking prompt with one line per item in the shown order, whitespace collapsed."""
        names, texts, prompt = job.names(), job.texts(), self.prompt
        lines = [render(prompt["item_line"], index=n, name=names[i], description=texts[i]) for n, i in enumerate(order, 1)]
        wanted = structures.instruction(self.structure) if self.structure else prompt["instruction"]
        ask = render(prompt["query"], noun=job.list.noun) + " " + render(wanted, count=len(order))
        user = "\n\n".join([prompt["items_header"], "\n".join(lines), ask])
        return [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": user}]

    def fit(self, job: Job) -> None:
        """GeoBenchError, naming the item and its token count, where the job's prompt and reply do not fit the context."""
        text, room = self.engine.chat_text(self.messages(job, job.orders[0])), self.decoding.max_new_tokens
        if len(text.encode()) + room > self.engine.context:  # a token has a byte or more
            self.engine.encode(text, job.name, room=room)

    def rank(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Ranking]]:
        jobs = iter(jobs)
        while window := list(islice(jobs, max(1, self.engine.batch_size))):
            asks = [(n, order) for n, job in enumerate(window) for order in job.orders]
            replies = self.engine.generate(
                [self.messages(window[n], order) for n, order in asks], self.decoding, names=[window[n].name for n, _ in asks],
                alike=[(window[n].list.key, order) for n, order in asks],
                **self._form(window, asks),
            )
            for n, job in enumerate(window):
                yield job, self._ranking(job, [r for (m, _), r in zip(asks, replies) if m == n])

    def _form(self, window, asks) -> dict:
        """What holds each reply to its form, for the engine."""
        if not self.structure:
            return {}
        return {"structure": [structures.constraint(self.structure, _shown(window[n].names(), order)) for n, order in asks]}

    def _ranking(self, job: Job, replies) -> Ranking:
        texts, finish = [r.text for r in replies], [r.finish for r in replies]
        ranks, status = read_rankings(job, texts, finish, self.parse_mode, self.structure)
        return Ranking(ranks, status=status, replies=texts, finish=finish)


def read_reply(text: str, shown: list[str], finish: str, mode: str, structure: str | None) -> Parsed:
    """A reply about names in their shown order: by its form where it was held to one and kept it."""
    formed = structures.read(structure, text, shown, finish) if structure else None
    return formed or parse_ranking(text, shown, finish, mode)


def read_rankings(job: Job, replies: list[str], finish: list[str], mode: str, structure: str | None) -> tuple[list[list[int]], list[str]]:
    """(ranks of all items in file order, status) per order of a job, from its replies alone."""
    names, ranks, status = job.names(), [], []
    for order, reply, end in zip(job.orders, replies, finish):  # numbers in a reply are those of the shown order
        read = read_reply(reply, _shown(names, order), end, mode, structure)
        ranks.append([read.ranks[order.index(i)] for i in range(len(names))])
        status.append(read.status)
    return ranks, status


def _shown(names: list[str], order: tuple[int, ...]) -> list[str]:
    return [names[i] for i in order]
