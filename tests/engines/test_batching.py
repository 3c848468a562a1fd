"""Groups that share a forward: halved when memory runs out, in order again afterwards."""

import pytest
import torch

from geobench.engines.batching import halving, sorted_back


def test_memory_that_fits_two_halves_the_groups():
    seen = []

    def work(group):
        seen.append(len(group))
        if len(group) > 2:
            raise MemoryError
        return group

    assert [i for g in halving(list(range(7)), 5, work) for i in g] == list(range(7))
    assert seen == [5, 2, 2, 2, 1]


def test_a_cpu_without_memory_halves_the_groups_too():
    """torch's own error, and no other RuntimeError."""

    def work(group):
        if len(group) > 2:
            torch.empty(2**50)  # 4 PiB
        return group

    assert [i for g in halving(list(range(5)), 5, work) for i in g] == list(range(5))
    with pytest.raises(RuntimeError, match="must match the size"):
        list(halving([0, 1, 2], 3, lambda group: torch.ones(2) + torch.ones(3)))


def test_one_that_does_not_fit_is_an_error():
    with pytest.raises(MemoryError):
        list(halving([0], 4, lambda group: (_ for _ in ()).throw(MemoryError())))


def test_values_come_in_index_order():
    assert list(sorted_back([[(2, "c"), (0, "a")], [(1, "b")]])) == [(0, "a"), (1, "b"), (2, "c")]
