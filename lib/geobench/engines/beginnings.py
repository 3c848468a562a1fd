"""Beginnings that prompts share: keys and values of the first prompt under each key, for the later ones that start alike.

An edited list's prompt equals the clean one's under the same order up to the edited item, so that part is not computed again.
"""

from collections import OrderedDict
from os.path import commonprefix

from geobench.engines.drafts import Drafts
from geobench.kernels.decoder import EMPTY, Prefix

BYTES = 2**30  # what is kept in all on a CPU; the least recently used goes first


class Beginnings:
    """`of(key, row)`: the longest kept beginning of a row; `keep(key, row, prefix)`: the first row of a key stays. None is no key."""

    def __init__(self, limit: int = BYTES):
        self.limit, self._kept, self._drafts = limit, OrderedDict(), {}

    def of(self, key, row: list[int]) -> Prefix:
        """Keys and values of the tokens that the row shares with the first row of its key, its last token never among them."""
        if key not in self._kept:
            return EMPTY
        self._kept.move_to_end(key)
        first, prefix = self._kept[key]
        same = min(len(commonprefix((first, row))), len(row) - 1)
        return prefix.crop(same) if same else EMPTY

    def keep(self, key, row: list[int], prefix: Prefix) -> None:
        """Keep a whole row's keys and values, unless its key has one."""
        if key is None or key in self._kept:
            return
        self._kept[key] = row, prefix
        while sum(size(kept) for _, kept in self._kept.values()) > self.limit:
            self._drafts.pop(self._kept.popitem(last=False)[0], None)

    def drafts(self, key) -> Drafts:
        """What was read and written under a key; new where the key is not kept."""
        return self._drafts.setdefault(key, Drafts()) if key in self._kept else Drafts()


def size(prefix: Prefix) -> int:
    """Bytes of keys and values."""
    return sum(t.numel() * t.element_size() for t in (*prefix.keys, *prefix.values))
