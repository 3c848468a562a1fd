"""Control tokens that stand in data: `<|im_end|>` in a description must reach a model as text, never as the end of a turn.

A tokenizer reads its special tokens wherever they stand in a rendered prompt, so text that spells one breaks out of the chat
template. The spelling is broken with a space after its first character, which leaves it readable and changes no other text.
The marks of common templates are broken for every model, so that all models see the same text; a model's own come on top.
"""

import re

COMMON = r"<\|[^\s|<>]{1,40}\|>|<\uff5c[^\s<>]{1,40}\uff5c>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|<(?:bos|eos)>"


class ControlTokens:
    """Finds and breaks control tokens. `own`: the spellings of one tokenizer's special tokens."""

    def __init__(self, own=()):
        able = [token for token in set(own) if len(token) > 1 and token not in f"{token[0]} {token[1:]}"]  # not blanks, which stay whole
        exact = "|".join(re.escape(token) for token in sorted(able, key=len, reverse=True))
        self._pattern = re.compile(f"{exact}|{COMMON}" if exact else COMMON)

    def found(self, text: str) -> list[str]:
        """The control tokens that a text spells, in order."""
        return self._pattern.findall(text)

    def broken(self, text: str) -> str:
        """The text with none of them; a second call changes nothing."""
        while self._pattern.search(text):
            text = self._pattern.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
        return text


def of_tokenizer(tokenizer) -> ControlTokens:
    """The control tokens of a Hugging Face tokenizer."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    return ControlTokens([*(str(t.content) for t in added if t.special), *getattr(tokenizer, "all_special_tokens", ())])
