"""Rankers that score each item alone: `cross_encoder`, `bi_encoder`, `bm25`. They do not see the order; only an edited item
is scored anew. A causal LM serves as cross-encoder by its log-odds of yes against no (as the LLM-based rerankers do).
"""

from collections.abc import Callable, Iterable, Iterator

from geobench.detectors.judge import log_odds, yes_no_tokens
from geobench.prompts import load_prompt, prompt_sha, render
from geobench.rankers.base import Job, Ranking, ranks_of


class PointwiseRanker:
    """`score(query, passages)` gives one number per passage "Name: text"; query "I am looking for a {noun}.".

    measure(query, passage, what): what of a passage is not read, as text, or None; GeoBenchError where it cannot be read at all.
    """

    order_free = True

    def __init__(
        self, name: str, identity: dict, score: Callable[[str, list[str]], list[float]], whole_list: bool = False, engine=None, measure=None
    ):
        self.name, self._identity, self.score, self.whole_list, self.engine = name, identity, score, whole_list, engine
        self.measure = measure
        self._clean: dict[str, list[float]] = {}

    def identity(self) -> dict:
        return {**self._identity, "prompt": prompt_sha("ranking")}

    def fit(self, job: Job) -> list[str]:
        """Which of the job's passages are not read to their ends; GeoBenchError, naming the item and its tokens, for one too long."""
        query, passages = _query(job), _passages(job)
        places = range(len(passages)) if job.target is None else [job.target - 1]
        what = [f"{job.list.key} item {i + 1} ({job.list.items[i].name}), {job.variant}" for i in range(len(passages))]
        return [cut for i in places if self.measure and (cut := self.measure(query, passages[i], what[i]))]

    def rank(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Ranking]]:
        for job in jobs:
            scores = self._scores(job)
            yield job, Ranking([ranks_of(scores)] * len(job.orders), scores=[scores] * len(job.orders))

    def _scores(self, job: Job) -> list[float]:
        query, passages = _query(job), _passages(job)
        if job.target is None or self.whole_list:
            return [float(s) for s in self.score(query, passages)]
        if job.list.key not in self._clean:
            self._clean = {job.list.key: self._scores(Job(job.list, job.orders))}
        scores = list(self._clean[job.list.key])
        scores[job.target - 1] = float(self.score(query, [passages[job.target - 1]])[0])
        return scores


def _query(job: Job) -> str:
    return render(load_prompt("ranking")["query"], noun=job.list.noun)


def _passages(job: Job) -> list[str]:
    return [f"{name}: {text}" for name, text in zip(job.names(), job.texts())]


def bm25(name: str) -> PointwiseRanker:
    """Okapi BM25 over the list's passages (bm25s, Lucene variant, k1 1.5, b 0.75); the corpus is the list itself."""

    def score(query: str, passages: list[str]) -> list[float]:
        import bm25s

        corpus = bm25s.tokenize(passages, stopwords="en", show_progress=False)
        index = bm25s.BM25()
        index.index(corpus, show_progress=False)
        words = bm25s.tokenize([query], stopwords="en", return_ids=False, show_progress=False)[0]
        return [float(s) for s in index.get_scores(words)] if words else [0.0] * len(passages)

    return PointwiseRanker(name, {"read_out": "bm25", "k1": 1.5, "b": 0.75}, score, whole_list=True)


def encoder(name: str, engine, read_out: str) -> PointwiseRanker:
    """Cosine of a bi-encoder's embeddings, or a cross-encoder's logits (never sigmoid or softmax: they tie at 1)."""

    def measure(query: str, passage: str, what: str) -> str | None:
        tokens = engine.tokens(query, passage)
        return f"{what}: {tokens} tokens of which `{engine.spec.name}` reads {engine.limit}" if tokens > engine.limit else None

    return PointwiseRanker(name, {**engine.identity(), "read_out": read_out}, engine.relevance, engine=engine, measure=measure)


def causal_cross_encoder(name: str, engine) -> PointwiseRanker:
    """Log-odds of yes against no when a causal LM is asked whether the passage answers the query."""
    prompt = load_prompt("relevance")

    def messages(query: str, passage: str) -> list[dict]:
        user = render(prompt["user"], query=query, text=passage)
        return [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": user}]

    def score(query: str, passages: list[str]) -> list[float]:
        tokens = yes_no_tokens(engine.tokenizer)
        shared = engine.shared_prefix(lambda text: messages(query, text))
        rows = engine.next_token_logprobs([messages(query, p) for p in passages], sum(tokens, []), shared)
        return [log_odds(row, len(tokens[0])) for row in rows]

    def measure(query: str, passage: str, what: str) -> None:
        text = engine.chat_text(messages(query, passage))
        if len(text.encode()) > engine.context:  # a token has a byte or more
            engine.encode(text, what)

    identity = {**engine.identity(), "read_out": "cross_encoder", "relevance": prompt_sha("relevance")}
    return PointwiseRanker(name, identity, score, engine=engine, measure=measure)
