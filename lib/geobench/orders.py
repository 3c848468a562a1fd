"""Orders of a list: in which sequence a ranker sees the L items (lists of 0-based item indices).

The orders that evaluate an edit and those that a search optimises on never meet, by construction: evaluation draws even
permutations, search odd ones. On either side every item is equally likely at every place (from L = 3 on), and the first
k orders do not depend on how many are drawn, so K can grow later without ranking anything again. Draws come from
PCG64's raw output, which numpy promises to keep.
"""

import math
import random
import zlib
from hashlib import sha256

import numpy as np

from geobench.errors import GeoBenchError


def evaluation_orders(lst_key: str, size: int, count: int, seed: int) -> list[list[int]]:
    """`count` even permutations of a list, shared by all its targets; distinct until all L!/2 are used, then again.

    A list of two has one even order: evaluation then alternates both. GeoBenchError for size < 2 or count < 1.
    """
    _check(lst_key, size, count)
    if size == 2:
        first = _draw(_bits("evaluation", lst_key, seed), size)
        return [first[::-1] if k % 2 else first for k in range(count)]
    return _distinct(_bits("evaluation", lst_key, seed), size, count, odd=False)


def search_orders(lst_key: str, size: int, count: int, seed: int) -> list[list[int]]:
    """`count` odd permutations for a search to look at. GeoBenchError for a list of two: evaluation uses both orders."""
    _check(lst_key, size, count)
    if size == 2:
        raise GeoBenchError(f"list `{lst_key}`: two items have two orders and evaluation uses both; none is left to search")
    return _distinct(_bits("search", lst_key, seed), size, count, odd=True)


def released_orders(lst_key: str, target: int, size: int, count: int, seed: int) -> list[list[int]]:
    """The public release's orders of one target (1-based): file order, then shuffles seeded by data set, list and target.

    `lst_key` is "dataset/list". The same numbers as the release: random.Random, seed * 100003 + crc32 % 100003.
    """
    _check(lst_key, size, count)
    key = f"{lst_key.replace('/', '|', 1)}|{target}".encode()
    shuffles = random.Random(seed * 100003 + zlib.crc32(key) % 100003)
    orders = [list(range(size))]
    for _ in range(count - 1):
        orders.append(list(range(size)))
        shuffles.shuffle(orders[-1])
    return orders


def kendalls_w(ranks) -> float:
    """Kendall's coefficient of concordance of K rankings of L items, corrected for ties; K x L in, 0..1 out.

    W = 12 S / (K^2 (L^3 - L) - K sum T), S the squared deviations of the items' rank sums, T = sum of t^3 - t over a
    ranking's ties. 1: all orders agree; about 1/K by chance. nan if every ranking ties everything. GeoBenchError unless
    K, L >= 2 and all ranks are finite.
    """
    ranks = np.asarray(ranks, dtype=float)
    if ranks.ndim != 2 or min(ranks.shape) < 2 or not np.isfinite(ranks).all():
        raise GeoBenchError(f"Kendall's W: expected at least 2 x 2 finite ranks (orders x items), got {ranks.shape}")
    judges, size = ranks.shape
    below = (ranks[:, :, None] > ranks[:, None, :]).sum(axis=2)
    equal = (ranks[:, :, None] == ranks[:, None, :]).sum(axis=2)
    sums = (below + (equal + 1) / 2).sum(axis=0)
    ties = (equal**2 - 1).sum()  # each of t tied items counts t^2 - 1
    bottom = judges**2 * (size**3 - size) - judges * ties
    return float(12 * ((sums - sums.mean()) ** 2).sum() / bottom) if bottom else math.nan


def _check(lst_key: str, size: int, count: int) -> None:
    if size < 2 or count < 1:
        raise GeoBenchError(f"list `{lst_key}`: orders need at least two items and one order, got {size} and {count}")


def _bits(purpose: str, lst_key: str, seed: int) -> np.random.PCG64:
    """The stream of one list and purpose: the same on every machine and in every process."""
    return np.random.PCG64(int.from_bytes(sha256(f"{purpose}|{seed}|{lst_key}".encode()).digest(), "big"))


def _draw(bits: np.random.PCG64, size: int) -> list[int]:
    """A uniform permutation."""
    return np.argsort(bits.random_raw(size), kind="stable").tolist()


def _distinct(bits: np.random.PCG64, size: int, count: int, odd: bool) -> list[list[int]]:
    """`count` permutations of one parity, distinct while the supply of L!/2 lasts; then the same ones from the start."""
    supply = min(count, math.factorial(size) // 2)
    orders: dict[tuple, None] = {}
    while len(orders) < supply:
        order = _draw(bits, size)
        if _is_odd(order) != odd:
            order[:2] = order[1::-1]
        orders[tuple(order)] = None
    drawn = list(map(list, orders))
    return [list(drawn[k % supply]) for k in range(count)]


def _is_odd(order: list[int]) -> bool:
    """Parity: L minus the number of cycles."""
    seen: set[int] = set()
    cycles = 0
    for start in range(len(order)):
        cycles += start not in seen
        while start not in seen:
            seen.add(start)
            start = order[start]
    return (len(order) - cycles) % 2 == 1
