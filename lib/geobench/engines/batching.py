"""Groups of rows that share a forward: halved when memory runs out, and put back in order."""

from collections.abc import Callable, Iterable, Iterator

import torch


def halving(order: list[int], size: int, work: Callable[[list[int]], list]) -> Iterable[list]:
    """Run `work` on groups of `size`; when memory runs out, halve the group and go on from where it stopped."""
    start = 0
    while start < len(order):
        group = order[start : start + size]
        try:
            result = work(group)
        except (RuntimeError, MemoryError) as error:
            if len(group) == 1 or not _of_memory(error):
                raise
            torch.cuda.empty_cache()
            size = max(1, len(group) // 2)
            continue
        yield result
        start += len(group)


def _of_memory(error: Exception) -> bool:
    """Whether memory ran out: torch has an own class for it on CUDA, and none on a CPU."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "DefaultCPUAllocator" in str(error)


def sorted_back(groups: Iterable[list[tuple[int, torch.Tensor]]]) -> Iterator[tuple[int, torch.Tensor]]:
    """(index, value) pairs in index order, holding back only what came early."""
    waiting, due = {}, 0
    for group in groups:
        waiting.update(group)
        while due in waiting:
            yield due, waiting.pop(due)
            due += 1
    yield from sorted(waiting.items())
