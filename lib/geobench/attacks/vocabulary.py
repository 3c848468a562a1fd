"""Which tokens may stand in a suffix, and what a row of them reads as inside a text."""

from dataclasses import dataclass
from functools import lru_cache

import torch

from geobench.lists import one_line


@dataclass(frozen=True)
class Vocabulary:
    """`texts[v]`: what token v reads as inside a text. `inner`, `first` [V] booleans: allowed after and at the first place."""

    tokenizer: object
    anchor: list[int]
    texts: list[str]
    inner: torch.Tensor
    first: torch.Tensor

    def text(self, slot: list[int]) -> str:
        """The slot's text as it follows other text, leading space included."""
        return _decode(self.tokenizer, [self.anchor + slot])[0][len(self.texts[self.anchor[0]]) :]

    def allowed(self, size: int) -> torch.Tensor:
        """[size, V] booleans: which tokens may stand at each place of a suffix."""
        mask = self.inner.expand(size, -1).clone()
        mask[0] = self.first
        return mask

    def reads(self, slot: list[int]) -> bool:
        """Whether the slot's text is one line after a space."""
        text = self.text(slot)
        return text == " " + one_line(text)


@lru_cache(maxsize=1)
def vocabulary(engine) -> Vocabulary:
    """The tokens allowed in a suffix: printable ASCII that is not only spaces, none of them special."""
    tokenizer = engine.tokenizer
    size = min(len(tokenizer), engine.model.model.embed_tokens.weight.shape[0])
    anchor = tokenizer("a", add_special_tokens=False)["input_ids"][-1:]
    base = _decode(tokenizer, [anchor])[0]
    texts = [text[len(base) :] for text in _decode(tokenizer, [[*anchor, v] for v in range(size)])]
    texts[anchor[0]] = base
    special = {*tokenizer.all_special_ids, *tokenizer.get_added_vocab().values()}
    inner = [bool(t.strip()) and t.isascii() and t.isprintable() and v not in special for v, t in enumerate(texts)]
    first = [ok and t.startswith(" ") for ok, t in zip(inner, texts)]
    return Vocabulary(tokenizer, anchor, texts, torch.tensor(inner), torch.tensor(first))


def _decode(tokenizer, rows: list[list[int]]) -> list[str]:
    return tokenizer.batch_decode(rows, skip_special_tokens=False, clean_up_tokenization_spaces=False)
