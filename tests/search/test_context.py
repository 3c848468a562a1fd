from geobench.search.chunking import Chunk
from geobench.search.context import citations, messages, passages
from geobench.search.corpus import Source
from geobench.search.retrieval import Hit

SOURCES = [Source(url=f"https://x.example/{n}", title=f"T{n}", text="0123456789") for n in (1, 2)]


def hit(document, start, end, number=1):
    return Hit(Chunk(document, number, start, end, 1, "0123456789"[start:end]), 0.0, 0.0)


def test_sources_are_numbered_by_their_best_chunk_and_overlaps_joined():
    shown = passages(SOURCES, [hit(2, 4, 8, 2), hit(1, 0, 2), hit(2, 2, 5), hit(1, 6, 9, 3)])
    assert [(p.number, p.document, p.text) for p in shown] == [(1, 2, "234567"), (2, 1, "01 ... 678")]


def test_citations_valid_and_not():
    assert citations("Yes [1], no [2, 7]. [1] [x] [0]", 3) == ([1, 2], [7, 0])
    assert citations("none", 3) == ([], [])


def test_the_prompt_holds_query_sources_and_numbers():
    text = messages("How deep {x}?", passages(SOURCES, [hit(1, 0, 10)]))[1]["content"]
    assert "[1] 0123456789\n(source 1: T1, https://x.example/1)" in text and "How deep {x}?" in text
    assert "no source" in messages("q", [])[1]["content"]
