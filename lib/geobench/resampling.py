"""Resamples of lists as counts, and the means that they give: how often each list was drawn, times each list's sums.

Lists are drawn with replacement within each data set, with all their targets. Draws depend on the seed, the data set's name and its
number of lists only.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256

import numpy as np

from geobench.errors import GeoBenchError

CHUNK = 256  # resamples made at a time


def resample_counts(lists_per_dataset: Mapping[str, int], resamples: int, seed: int) -> np.ndarray:
    """How often each list is drawn: resamples x lists, data set by data set in the mapping's order.

    Within a data set of n lists every row draws n lists with replacement, so its entries sum to n.
    """
    return np.concatenate(list(_counted(lists_per_dataset, resamples, seed)))


def _counted(lists_per_dataset: Mapping[str, int], resamples: int, seed: int) -> Iterator[np.ndarray]:
    """The rows of `resample_counts`, CHUNK at a time: so few stay in the processor's cache."""
    if resamples < 2 or not lists_per_dataset:
        raise GeoBenchError(
            f"bootstrap: expected >= 2 resamples, and lists; got {resamples}, {lists_per_dataset}"
        )
    streams = [sha256(f"bootstrap|{seed}|{dataset}".encode()).digest()[:16] for dataset in lists_per_dataset]
    draws = [np.random.default_rng(int.from_bytes(stream, "big")) for stream in streams]
    for start in range(0, resamples, CHUNK):
        rows, blocks = min(CHUNK, resamples - start), []
        for rng, lists in zip(draws, lists_per_dataset.values()):
            drawn = rng.integers(lists, size=(rows, lists))
            drawn += lists * np.arange(rows)[:, None]
            blocks.append(np.bincount(drawn.ravel(), minlength=rows * lists).reshape(rows, lists))
        yield np.concatenate(blocks, axis=1)


def list_sums(keys, numbers, weighting: str = "dataset") -> tuple[np.ndarray, dict[str, int], list[tuple[str, str]]]:
    """(lists x values sums over each list's targets, the last column their number; lists per data set; (data set, list) of each row).

    keys: targets x 2 (data set, list); numbers: targets x values. GeoBenchError for an unknown weighting.
    """
    if weighting not in ("dataset", "target"):
        raise GeoBenchError(f"statistics: expected weighting `dataset` or `target`, got {weighting!r}")
    pairs = [tuple(key) for key in keys.tolist()]
    names = {key: n for n, key in enumerate(sorted(set(pairs)))}
    place = np.array([names[key] for key in pairs])
    member = place == np.arange(len(names))[:, None]  # lists x targets
    sums = member.astype(float) @ np.column_stack([numbers, np.ones(len(numbers))])
    lists = [dataset for dataset, _ in names]
    return sums, {dataset: lists.count(dataset) for dataset in dict.fromkeys(lists)}, list(names)


def resampled_means(keys, numbers, resamples: int, seed: int, weighting: str = "dataset"):
    """(means, lists per data set): row 0 the data's own means, then one row per resample; a column per value.

    keys, numbers: as for `list_sums`. Products of the resample counts with the lists' sums and sizes.
    """
    sums, sizes, names = list_sums(keys, numbers, weighting)
    means = np.empty((numbers.shape[1], 1 + resamples)).T  # a value's draws lie side by side
    means[:1], start = _means(np.ones((1, len(names))), sums, sizes, weighting), 1
    for counts in _counted(sizes, resamples, seed):
        means[start : start + len(counts)] = _means(counts.astype(float), sums, sizes, weighting)
        start += len(counts)
    return means, sizes


def _means(counts: np.ndarray, sums: np.ndarray, sizes: dict[str, int], weighting: str) -> np.ndarray:
    """Means per row of counts (draws x lists). sums: lists x values, the last column the lists' sizes."""
    totals, start = [], 0
    for size in sizes.values():
        totals.append(counts[:, start : start + size] @ sums[start : start + size])
        start += size
    if weighting == "target":
        totals = [sum(totals)]
    means = totals[0][:, :-1] / totals[0][:, -1:]
    for total in totals[1:]:
        means += total[:, :-1] / total[:, -1:]
    return means / len(totals)
