"""Read-out `attention`: in-context re-ranking by calibrated attention (Chen, Gutierrez & Su 2025).

Score of an item: attention from the query sentence's tokens to the item's line, summed over the model's chosen heads (heads.py; all
heads where none were chosen), minus the same for a content-free query, per token of the line. The keys and values of everything
before an edited item come from the clean pass over the same order, which all targets and variants share; both queries run in the
same forward.
"""

from collections.abc import Iterable, Iterator
from os.path import commonprefix

import torch

from geobench import heads
from geobench.engines.local import LocalModel
from geobench.kernels import decoder
from geobench.kernels.readout import item_scores, read_out
from geobench.prompts import load_prompt, prompt_sha, render
from geobench.rankers.base import Job, Ranking, ranks_of

MARK = "\u2063"  # stands where the items end while the chat template is rendered; never reaches the model
QUERY_ROOM = 32  # tokens kept free for the query


class AttentionRanker:
    """Listwise ranker on any Llama-type decoder. `share=False` recomputes every prompt (for the benchmark); `chosen`: other heads than
    those of the model's file."""

    order_free = False

    def __init__(self, name: str, engine: LocalModel, share: bool = True, chosen: decoder.Heads | None = None):
        self.name, self.engine, self.share = name, engine, share
        self.prompt = load_prompt("ranking")
        self.heads = chosen or heads.heads_of(engine.spec, engine.model)
        self._list: str | None = None
        self._clean: dict[tuple, tuple[list[int], decoder.Prefix]] = {}

    def identity(self) -> dict:
        return {**self.engine.identity(), "read_out": "attention", "prompt": prompt_sha("ranking")} | heads.identity(self.engine.spec)

    def rank(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Ranking]]:
        for job in jobs:
            if job.list.key != self._list:
                self._list, self._clean = job.list.key, {}
            scores = [self._scores(job, order) for order in job.orders]
            yield job, Ranking([ranks_of(s) for s in scores], scores=scores)

    def fit(self, job: Job) -> None:
        """GeoBenchError, naming the item and its token count, where the job's prompt does not fit the context."""
        text, _ = self.prompt_text(job, job.orders[0])
        if len(text.encode()) + QUERY_ROOM > self.engine.context:  # a token has a byte or more
            self.engine.encode(text, job.name, room=QUERY_ROOM)

    def prompt_text(self, job: Job, order: tuple[int, ...]) -> tuple[str, list[tuple[int, int]]]:
        """The prompt up to the end of the last item's line, and the character range of each line, in shown order."""
        names, texts = job.names(), job.texts()
        lines = [
            self.engine.control.broken(render(self.prompt["item_line"], index=place, name=names[i], description=texts[i]))
            for place, i in enumerate(order, 1)
        ]  # as the engine will break them, so that the character ranges hold
        user = self.prompt["items_header"] + "\n\n" + "\n".join(lines) + MARK
        whole = self.engine.chat_text([{"role": "system", "content": self.prompt["system"]}, {"role": "user", "content": user}])
        text = whole[: whole.rindex(MARK)]
        ends, at = [], len(text) - len("\n".join(lines))
        for line in lines:
            ends.append((at, at + len(line)))
            at += len(line) + 1
        return text, ends

    @torch.inference_mode()
    def _scores(self, job: Job, order: tuple[int, ...]) -> list[float]:
        """[L] calibrated attention per token, in file order."""
        ids, spans = self.tokens(job, order)
        past, keep = self._past(job, order, ids), self.share and job.target is None
        rest = torch.tensor([ids[len(past) :]], dtype=torch.long, device=self.engine.device)  # may be empty
        out = read_out(self.engine.model, past, rest, *self.queries(job), self.heads, keep)
        if keep:
            self._clean[order] = (ids, out.own)
        shown = item_scores(out.difference[0], spans).tolist()
        scores = [0.0] * len(order)
        for i, score in zip(order, shown):
            scores[i] = score
        return scores

    def tokens(self, job: Job, order: tuple[int, ...]) -> tuple[list[int], list[tuple[int, int]]]:
        """The prompt's tokens up to the end of the last item's line, and each line's token range, in shown order."""
        text, lines = self.prompt_text(job, order)
        ids, offsets = self.engine.encode(text, job.name, offsets=True, room=QUERY_ROOM)
        inside = [[n for n, (s, e) in enumerate(offsets) if s < end and e > start] for start, end in lines]
        return ids, [(places[0], places[-1] + 1) for places in inside]

    def queries(self, job: Job) -> tuple[list[int], list[int]]:
        """Tokens of the query and of the neutral query that follow the prompt."""
        asked = "\n" + render(self.prompt["query"], noun=job.list.noun), "\n" + self.prompt["neutral_query"]
        query, neutral = (self.engine.tokenizer(text, add_special_tokens=False)["input_ids"] for text in asked)
        return query, neutral

    def _past(self, job: Job, order, ids: list[int]) -> decoder.Prefix:
        """The clean pass's keys and values of the tokens that this prompt shares with it."""
        if not self.share or job.target is None:
            return decoder.EMPTY
        if order not in self._clean:
            self._scores(Job(job.list, (order,)), order)
        clean, prefix = self._clean[order]
        return prefix.crop(len(commonprefix((clean, ids))))
