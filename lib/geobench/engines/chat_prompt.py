"""Chat prompts of an engine that has the model's tokenizer: the template, exactly one BOS, and never longer than the context."""

from collections.abc import Callable
from os.path import commonprefix
from typing import Any

from geobench.engines.reply import Messages
from geobench.errors import DoesNotFit, GeoBenchError, came


class ChatPrompts:
    """For engines with `spec`, `tokenizer`, `control` (engines.control_tokens) and `context` (tokens)."""

    spec: Any
    tokenizer: Any
    control: Any
    context: int

    def chat_text(self, messages: Messages, add_generation_prompt: bool = True) -> str:
        """The prompt in the model's own template, control tokens in the messages broken (engines.control_tokens); the system text
        moves into the first user turn where there is no system role. A chat without any text is an empty prompt."""
        messages = [m | {"content": self.control.broken(m["content"])} for m in messages if m["content"]]
        if not messages:
            return ""
        if not self.tokenizer.chat_template:
            return "\n\n".join(m["content"] for m in messages) + "\n"
        try:
            return self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=add_generation_prompt)
        except Exception:
            if messages[0]["role"] != "system":
                raise
            folded = {"role": "user", "content": messages[0]["content"] + "\n\n" + messages[1]["content"]}
            return self.tokenizer.apply_chat_template([folded, *messages[2:]], tokenize=False, add_generation_prompt=add_generation_prompt)

    def encode(self, text: str, what: str = "prompt", offsets: bool = False, room: int = 0):
        """Token ids of a whole rendered prompt with exactly one BOS; with `offsets` also the character range of each token.

        GeoBenchError for an empty prompt, two BOS, or one that is too long with `room` tokens to generate."""
        if not text:
            raise GeoBenchError(f"{what}: the prompt is empty")
        coded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=offsets)
        ids, spans = list(coded["input_ids"]), coded.get("offset_mapping")
        bos = self.tokenizer.bos_token_id
        if bos is not None and (not ids or ids[0] != bos):
            ids, spans = [bos, *ids], [(0, 0), *spans] if offsets else None
        if bos is not None and len(ids) > 1 and ids[1] == bos:
            raise GeoBenchError(f"{what}: the prompt starts with two BOS tokens under `{self.spec.name}`: {came(text, 60)}")
        if len(ids) + room > self.context:
            raise DoesNotFit(
                f"{what}: {len(ids)} tokens{f' and {room} to generate' if room else ''} do not fit the {self.context} of `{self.spec.name}`"
            )
        return (ids, spans) if offsets else ids

    def encode_chat(self, messages: Messages, what: str = "prompt", room: int = 0) -> list[int]:
        """Token ids of a chat prompt that ends where the assistant's turn begins."""
        return self.encode(self.chat_text(messages), what, room=room)

    def shared_prefix(self, render: Callable[[str], Messages]) -> int:
        """How many leading tokens all prompts of a template share, whatever text is put in."""
        return len(commonprefix([self.encode_chat(render(text)) for text in ("A", "7 zebras")]))
