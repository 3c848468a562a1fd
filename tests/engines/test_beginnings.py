"""Shared beginnings: the longest common start, never the whole row, the first row of a key, within a bound of bytes."""

import torch

from geobench.engines.beginnings import Beginnings, size
from geobench.kernels.decoder import Prefix


def prefix(length: int) -> Prefix:
    """One layer, one head of one float32: place n holds n, and 8 bytes a token."""
    places = torch.arange(length, dtype=torch.float32).reshape(1, 1, length, 1)
    return Prefix([places], [places + 100])


def test_the_longest_common_start_is_found_and_one_token_is_left():
    kept = Beginnings()
    kept.keep("a", [5, 6, 7, 8], prefix(4))
    found = kept.of("a", [5, 6, 9, 8, 1])
    assert found.keys[0].flatten().tolist() == [0, 1] and found.values[0].flatten().tolist() == [100, 101]
    assert len(kept.of("a", [5, 6, 7, 8])) == 3 and len(kept.of("a", [5, 6])) == 1  # the last token is always computed
    assert len(kept.of("a", [4, 6])) == len(kept.of("b", [5, 6])) == len(kept.of(None, [5, 6])) == 0


def test_the_first_row_of_a_key_stays_and_no_key_keeps_nothing():
    kept = Beginnings()
    for key, row in (("a", [1, 2]), ("a", [3, 4]), (None, [1, 2])):
        kept.keep(key, row, prefix(2))
    assert len(kept.of("a", [1, 9])) == 1 and len(kept.of("a", [3, 9])) == len(kept.of(None, [1, 9])) == 0


def test_the_least_recently_used_goes_when_the_bytes_are_full():
    assert size(prefix(4)) == 32
    kept = Beginnings(limit=64)
    for key in "ab":
        kept.keep(key, [1, 2, 3, 4], prefix(4))
    kept.of("a", [1, 2])
    kept.keep("c", [1, 2, 3, 4], prefix(4))
    assert [len(kept.of(key, [1, 2])) for key in "abc"] == [1, 0, 1]
