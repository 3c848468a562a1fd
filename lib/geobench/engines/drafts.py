"""Drafts of what a model will write, so that one forward can check several tokens (speculative decoding by look-up, Saxena 2023).

A ranking repeats names and descriptions of its prompt, and the reply to an edited list much of the clean list's. So the last tokens
are looked up in what was read and written before, and what followed there is the draft. A draft only saves time: every token is still
chosen from the model's own logits.
"""

LENGTHS = (3, 2)  # tokens that must agree, longest first
MOST = 12  # tokens of a draft


class Drafts:
    """What was read and written under one key; the latest place of a run of tokens counts."""

    def __init__(self):
        self._after: dict[tuple, tuple[list[int], int]] = {}

    def add(self, sequence: list[int], start: int = 0) -> None:
        """Index what has a next token in a sequence; one that has grown is added again from its former end."""
        for size in LENGTHS:
            for end in range(max(start, size), len(sequence)):
                self._after[tuple(sequence[end - size : end])] = sequence, end

    def guess(self, tail: list[int], size: int) -> list[int]:
        """At most `size` tokens that followed the last tokens of `tail` where they stood before; [] where they never did."""
        for length in LENGTHS:
            sequence, end = self._after.get(tuple(tail[-length:]), ([], 0))
            if end < len(sequence):
                return sequence[end : end + size]
        return []


class Draft:
    """One row's drafts: its prompt and what it has written join those of its key. Their size follows how many tokens were right."""

    def __init__(self, drafts: Drafts, prompt: list[int]):
        self.drafts, self.text, self.size, self._known = drafts, list(prompt), 4, len(prompt)
        drafts.add(self.text)

    def guess(self, written: list[int], room: int) -> list[int]:
        """The draft after `written`, of at most `room` tokens."""
        before = len(self.text)
        self.text += written[before - self._known :]
        guessed = self.drafts.guess(self.text, min(self.size, room))
        self.drafts.add(self.text, before)
        return guessed

    def learn(self, guessed: int, right: int) -> None:
        """Longer drafts after right ones, shorter ones after wrong ones."""
        if guessed:
            self.size = min(MOST, self.size + 2) if right == guessed else max(1, right + 1)
