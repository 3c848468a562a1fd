"""What the victim reads: the reranked chunks, grouped by source and numbered, and the checks of its citations."""

import re
from dataclasses import dataclass

from geobench.prompts import load_prompt, render
from geobench.search.retrieval import Hit

CITATION = re.compile(r"\[(\d+(?:\s*[,;]\s*\d+)*)\]")


@dataclass(frozen=True)
class Passage:
    """One numbered source of a context: its document (1-based among the five), title, address and the retrieved text."""

    number: int
    document: int
    title: str
    url: str
    text: str


def passages(sources, hits: list[Hit]) -> list[Passage]:
    """Sources in the order of their best chunk; overlapping chunks of a source are joined, gaps are marked by three dots."""
    found = []
    for document in dict.fromkeys(h.chunk.document for h in hits):
        spans = sorted((h.chunk.start, h.chunk.end) for h in hits if h.chunk.document == document)
        joined = [spans[0]]
        for start, end in spans[1:]:
            if start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        source = sources[document - 1]
        text = " ... ".join(source.text[a:b] for a, b in joined)
        found.append(Passage(len(found) + 1, document, source.title, source.url, text))
    return found


def messages(query: str, shown: list[Passage]) -> list[dict]:
    """The victim's chat prompt (params/prompts/search_answer.yaml)."""
    prompt = load_prompt("search_answer")
    text = "\n\n".join(render(prompt["source"], number=p.number, title=p.title, url=p.url, text=p.text) for p in shown) or prompt["none"]
    return [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": render(prompt["user"], sources=text, query=query)}]


def citations(answer: str, count: int) -> tuple[list[int], list[int]]:
    """(valid, invalid) source numbers cited in an answer, each once, in order of mention; valid ones are 1..count."""
    cited = dict.fromkeys(int(n) for group in CITATION.findall(answer) for n in re.split(r"\s*[,;]\s*", group))
    return [n for n in cited if 1 <= n <= count], [n for n in cited if not 1 <= n <= count]
