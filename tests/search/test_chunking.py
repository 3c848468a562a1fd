"""Offsets by hand with a tokenizer of words, and invariants with a byte-level one."""

import pytest

from geobench.errors import GeoBenchError
from geobench.search.chunking import chunk


@pytest.fixture(scope="module")
def words():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]")


def test_offsets_by_hand(words):
    text = " aa bb  cc dd ee"
    found = chunk(text, words, size=3, overlap=1, document=4)
    assert [(c.start, c.end, c.tokens, c.text) for c in found] == [(1, 10, 3, "aa bb  cc"), (8, 16, 3, "cc dd ee")]
    assert [(c.document, c.number) for c in found] == [(4, 1), (4, 2)]


@pytest.mark.parametrize("count,sizes", [(1, [1]), (512, [512]), (513, [512, 129]), (896, [512, 512]), (897, [512, 512, 129])])
def test_the_papers_sizes(words, count, sizes):
    assert [c.tokens for c in chunk("w " * count, words)] == sizes


def test_every_character_of_every_token_is_covered(tiny_model):
    tokenizer = tiny_model("llama").tokenizer
    text = "A crème brûlée — 20 °C, naïve “quotes” 😀 and\nlines. " * 9
    found = chunk(text, tokenizer, 40, 10)
    assert all(text[c.start : c.end] == c.text for c in found)
    assert found[0].start == 0 and found[-1].end >= len(text.rstrip())
    assert all(b.start < a.end for a, b in zip(found, found[1:]))


def test_faults(words):
    with pytest.raises(GeoBenchError, match="source 2: the document is empty"):
        chunk("  \n ", words, 4, 1, 2)
    with pytest.raises(GeoBenchError, match="overlap"):
        chunk("a b", words, 4, 4)


def test_chunks_longer_than_the_encoder_reads_are_refused():
    from geobench.search.chunking import require_room

    encoder = type("Encoder", (), {"max_seq_length": 256})
    require_room(encoder, 256)
    with pytest.raises(GeoBenchError, match="search_chunk_tokens: 512 tokens do not fit the 256"):
        require_room(encoder, 512)
