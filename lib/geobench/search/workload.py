"""How much work notebooks 11 and 12 of the search track are, counted as geobench.workload counts.

These are upper bounds: every retry is taken, every context is as full as its sources allow, and answers are as long as they may be. The
texts of a corpus are counted; public pages, which are not here yet, count PAGE tokens each, and every public query enters.
"""

import math
from dataclasses import dataclass

from geobench.prompts import load_prompt, render
from geobench.sampling import draw
from geobench.search.corpus import CONDITIONS, SOURCES
from geobench.search.judge import TOKENS
from geobench.search.keys import sentences
from geobench.search.pipeline import load_own
from geobench.search.victims import parse_victim
from geobench.workload import Work, fixed, tokens, yes_or_no

PUBLIC = 1000  # test queries of GEO-bench
PAGE, SENTENCE, HEAD = 1000, 25, 40  # tokens of a public page, of one of its sentences, of a title with its address: assumptions


@dataclass(frozen=True)
class Size:
    """Tokens of one query: its own, its sources, the target's three texts, the titles and addresses of its sources, and the statements of
    the claim and of the truth (two paraphrases and the verbatim one each). keyed: the key judge grades it."""

    query: int
    sources: tuple[int, ...]
    texts: tuple[int, int, int]
    sentences: int
    heads: int
    statements: tuple[int, ...]
    keyed: bool

    def documents(self, condition: int) -> tuple[int, ...]:
        """The sources under a condition, the target last."""
        return (*self.sources[1:], self.texts[condition])

    @property
    def distinct(self) -> tuple[int, ...]:
        """Every text that the search engine sees: the four other sources and the target's three."""
        return (*self.sources[1:], *self.texts)


PUBLIC_SIZE = Size(SENTENCE, (PAGE,) * SOURCES, (PAGE,) * 3, 7 * PAGE // SENTENCE, SOURCES * HEAD, (SENTENCE,) * 6, False)


def sizes(p) -> list[Size]:
    """The queries that notebook 12 answers; of public ones at most as many as are rewritten, since the gate has not spoken yet."""
    if p.search_corpus == "geo_bench":
        return [PUBLIC_SIZE] * min(p.search_instances or PUBLIC, rewritten(p))
    known = {one.name: one for one in load_own(p)}
    return [_size(known[name]) for name in draw(known, p.search_instances, p.seed, "search")]


def _size(one) -> Size:
    texts = [one.text(condition) for condition in CONDITIONS]
    others = [source for n, source in enumerate(one.sources, 1) if n != one.target]
    heads = sum(tokens(render(load_prompt("search_answer")["source"], number=1, text="", title=s.title, url=s.url)) for s in one.sources)
    said = (*one.false_paraphrases, *one.true_paraphrases, one.false_claim, one.true_statement)
    changed = (tokens(texts[0]), tokens(texts[1]), tokens(texts[2]))
    return Size(
        tokens(one.query), (tokens(one.clean_text), *(tokens(s.text) for s in others)), changed,
        sum(len(sentences(text)) for text in (*texts, *(s.text for s in others))), heads, tuple(map(tokens, said)), one.key is not None,
    )  # fmt: skip


def rewritten(p) -> int:
    """How many queries the rewriting pipeline is run on at most."""
    known = PUBLIC if p.search_corpus == "geo_bench" else len(load_own(p))
    return min(known, p.search_rewrite_queries if p.search_rewrite_queries is not None else known)


def cut(p, size: int) -> tuple[int, int]:
    """(chunks of a document, tokens of them all, overlaps twice)."""
    step = p.search_chunk_tokens - p.search_chunk_overlap
    count = max(1, math.ceil((size - p.search_chunk_overlap) / step))
    return count, size + (count - 1) * p.search_chunk_overlap


def candidates(p, size: Size, condition: int, most: int) -> tuple[int, int]:
    """(chunks of a query's sources under a condition, at most `most`; tokens of each on average)."""
    found = [cut(p, document) for document in size.documents(condition)]
    count = sum(chunks for chunks, _ in found)
    return min(most, count), math.ceil(sum(read for _, read in found) / count)


def embedded(p, notebook: str, model: str, what: str, documents) -> Work:
    """Every chunk of these documents (their tokens) through an encoder."""
    found = [cut(p, size) for size in documents]
    return Work(notebook, model, what, sum(n for n, _ in found), sum(n for _, n in found))


def data_work(p, queries: list[Size]) -> list[Work]:
    """Notebook 11: the rewriting pipeline, and the gate's similarity, perplexity and naturalness of each text."""
    texts = [text for size in queries for text in size.texts]
    if p.search_corpus == "geo_bench":  # each rewrite of IP and ID beside its original, the last ID for the training part
        texts += [PAGE] * (2 * (2 * (1 + p.search_gate_rounds) + 1) * rewritten(p))
    read = sum(min(size, p.perplexity_limit) for size in texts)
    return [
        *_rewrites(p, queries),
        Work("11_search_data", p.search_encoder, "gate: similarity", len(texts), sum(texts)),
        Work("11_search_data", p.reference_model, "gate: perplexity", len(texts), read),
        yes_or_no("11_search_data", p.reference_model, "gate: naturalness", load_prompt("search_naturalness"), texts),
    ]


def _rewrites(p, queries: list[Size]) -> list[Work]:
    """Metadata, IP and ID of each query; public ones again after each refusal, and the ID text once more to train on."""
    prompt, work = load_prompt("search_rewrite"), Work("11_search_data", p.search_rewriter, "rewrites")
    changed = "independent" if p.search_rewrite_template == "independent" else "id"
    public = p.search_corpus == "geo_bench"
    rounds = {"metadata": 1, "ip": 1 + public * p.search_gate_rounds, changed: 1 + public * (p.search_gate_rounds + 1)}
    for size in [PUBLIC_SIZE] * rewritten(p) if public else queries[: rewritten(p)]:
        for step, times in rounds.items():
            asked = fixed(prompt[step], "system", "user") + size.texts[0] + size.query + (size.statements[-2] if step == changed else 0)
            work.add(times * (1 + p.search_rewrite_retries), asked, p.search_rewrite_tokens)
    return [work] if work.calls else []


def answer_work(p, queries: list[Size]) -> list[Work]:
    """Notebook 12: search, answers, and grades of the written ones."""
    found = [embedded(p, "12_search_answers", p.search_encoder, "search", [n for size in queries for n in size.distinct])]
    found[0].calls, found[0].tokens_in = found[0].calls + len(queries), found[0].tokens_in + sum(size.query for size in queries)
    found += reranked(p, queries, "12_search_answers")
    for victim in p.search_victims:
        found.append(answers(p, victim, [(size, n) for size in queries for n in range(len(CONDITIONS))], "12_search_answers"))
        if not writes(victim):
            for size in queries:  # without any source
                found[-1].add(1, _frame() + size.query + sum(size.statements))
    written = [size for v in p.search_victims if writes(v) for size in queries for _ in CONDITIONS]
    sample = [size for size in written if size.keyed][: p.search_judge_answers]
    return found + graded(p, [size for size in written if not size.keyed] + sample, "12_search_answers")


def writes(victim: str) -> bool:
    """Whether an answer is a text of its own, which a judge can grade."""
    return parse_victim(victim)[1] != "likelihood"


def reranked(p, queries: list[Size], notebook: str) -> list[Work]:
    """The reranker over every candidate, under each condition; where it is the search's own encoder, the vectors are there already."""
    if p.search_reranker == p.search_encoder:
        return []
    work = Work(notebook, p.search_reranker, "reranking")
    for size, n in ((size, n) for size in queries for n in range(len(CONDITIONS))):
        count, each = candidates(p, size, n, p.search_candidates)
        work.add(count, size.query + each)
    return [work]


def answers(p, victim: str, contexts, notebook: str, what: str = "answers of {}") -> Work:
    """One answer per (size, condition): written, weighed between statements, or (in their first condition) the best of all sentences."""
    model, read_out = parse_victim(victim)
    if read_out == "extractive":
        return sentence_work(p, [size for size, n in contexts if n == 0], notebook, what.format(victim))
    work = Work(notebook, model, what.format(victim))
    for size, n in contexts:
        asked, said = _frame() + size.query + shown(p, size, n), sum(size.statements)
        work.add(1, *((asked, p.search_answer_tokens) if read_out == "generate" else (asked + said,)))
    return work


def sentence_work(p, queries: list[Size], notebook: str, what: str) -> Work:
    """Every sentence of the queries' texts through the search engine's encoder, which embeds a text once."""
    return Work(notebook, p.search_encoder, what, sum(s.sentences for s in queries), sum(sum(s.distinct) for s in queries))


def _frame() -> int:
    return fixed(load_prompt("search_answer"), "system", "user")


def shown(p, size: Size, condition: int) -> int:
    """Tokens of a full context, every chunk from a source of its own as long as there are sources."""
    heads = math.ceil(size.heads * min(p.search_top, SOURCES) / SOURCES)
    return min(p.search_top * p.search_chunk_tokens, sum(size.documents(condition))) + heads


def graded(p, contexts: list[Size], notebook: str) -> list[Work]:
    """The LLM judge's grades of these answers."""
    if p.search_judge is None or not contexts:
        return []
    work, asked = Work(notebook, p.search_judge, "judge"), fixed(load_prompt("search_judge"), "system", "user")
    for size in contexts:
        work.add(1, asked + size.query + sum(size.statements[-2:]) + SENTENCE + p.search_answer_tokens, TOKENS)
    return [work]
