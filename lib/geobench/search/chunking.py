"""Token chunks with exact character offsets: 512 tokens, overlapping by 128, by the retriever's own tokenizer."""

from dataclasses import dataclass

from geobench.errors import GeoBenchError


def require_room(encoder, size: int) -> None:
    """Refuse chunks of more tokens than a sentence-transformers model reads: it would cut them without a word."""
    room = getattr(encoder, "max_seq_length", None)
    if room and size > room:
        raise GeoBenchError(f"search_chunk_tokens: {size} tokens do not fit the {room} that the encoder reads; expected {room} or fewer")


@dataclass(frozen=True)
class Chunk:
    """`text[start:end]` of a document, `tokens` tokens long; `document` is the 1-based source, `number` the chunk's place in it."""

    document: int
    number: int
    start: int
    end: int
    tokens: int
    text: str


def chunk(text: str, tokenizer, size: int = 512, overlap: int = 128, document: int = 1) -> list[Chunk]:
    """The text's chunks, first to last. Each but the last has `size` tokens and shares `overlap` with the next.

    A chunk runs from its first token's first character to its last token's last, so that slices of the source are exact.
    GeoBenchError for an empty document, or an overlap that is not smaller than the size.
    """
    if not 0 <= overlap < size:
        raise GeoBenchError(f"chunks: expected 0 <= overlap < size, got overlap {overlap} and size {size}")
    spans = [
        s for s in tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"] if s[1] > s[0]
    ]
    if not spans:
        raise GeoBenchError(f"source {document}: the document is empty")
    chunks, first = [], 0
    while True:
        part = spans[first : first + size]
        start, end = part[0][0], part[-1][1]
        chunks.append(Chunk(document, len(chunks) + 1, start, end, len(part), text[start:end]))
        if first + size >= len(spans):
            return chunks
        first += size - overlap
