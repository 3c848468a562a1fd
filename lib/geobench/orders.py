"""Orders of a list: in which sequence a ranker sees the L items (lists of 0-based item indices).

The orders that evaluate an edit and those that a search optimises on never meet, by construction: evaluation
draws even permutations, search odd ones. On either side every item is equally likely at every place (from L =
3 on), and the first k orders do not depend on how many are drawn, so K can grow later without ranking
anything again. Draws come from PCG64's raw output, which numpy promises to keep.
"""

import math
import random
import zlib
from hashlib import sha256
from itertools import combinations

import numpy as np

from geobench.errors import GeoBenchError


def evaluation_orders(lst_key: str, size: int, count: int, seed: int) -> list[list[int]]:
    """`count` even permutations of a list, for all its targets; distinct until all L!/2 are used, then again.

    A list of two has one even order: evaluation then alternates both. GeoBenchError for size < 2 or count <
    1.
    """
    return _draw("evaluation", lst_key, size, count, seed)


def search_orders(lst_key: str, size: int, count: int, seed: int) -> list[list[int]]:
    """`count` odd permutations for a search to look at; GeoBenchError for a list of two: none is left."""
    if size == 2:
        raise GeoBenchError(f"list `{lst_key}`: evaluation uses both orders of its two items; none is left")
    return _draw("search", lst_key, size, count, seed)


def search_split(
    lst_key: str, size: int, held_out: int, count: int, seed: int, last: int | None = None
) -> tuple[list[tuple], list[tuple]]:
    """(held-out orders to choose by, distinct other orders to optimise on) out of held_out + count search orders.

    last: the item (0-based) that optimisation shows at the end. GeoBenchError where a short list has none left to optimise on.
    """
    drawn = [tuple(order) for order in search_orders(lst_key, size, held_out + count, seed)]
    held, rest = drawn[:held_out], [order for order in drawn if order not in drawn[:held_out]]
    if last is not None:
        moved = (at_end(order, last) for order in (*drawn[held_out:], *held))
        rest = [order for order in moved if order not in held]
    if not rest:
        raise GeoBenchError(
            f"list `{lst_key}` of {size} items: test_orders={held_out} holds all of its search orders out"
            f"{'' if last is None else f' that show item {last + 1} last'}; none is left to optimise on"
        )
    return held, list(dict.fromkeys(rest))[:count]


def at_end(order: tuple[int, ...], item: int) -> tuple[int, ...]:
    """A search order that shows the item last; the others keep their order, but for one swap where it would be one of evaluation's."""
    moved = (*(i for i in order if i != item), item)
    return moved if is_odd(moved) else (moved[1], moved[0], *moved[2:])


def is_odd(order) -> bool:
    """Whether a permutation is odd, as search orders are and evaluation orders are not."""
    return sum(a > b for a, b in combinations(order, 2)) % 2 == 1


def released_orders(lst_key: str, target: int, size: int, count: int, seed: int) -> list[list[int]]:
    """The public release's orders of one target (1-based): file order, then shuffles seeded for this target.

    `lst_key` is "dataset/list". The same draws as the release: random.Random(seed * 100003 + crc32 % 100003).
    """
    _check(lst_key, size, count)
    key = f"{lst_key.replace('/', '|', 1)}|{target}".encode()
    shuffles = random.Random(seed * 100003 + zlib.crc32(key) % 100003)
    orders = [list(range(size)) for _ in range(count)]
    for order in orders[1:]:
        shuffles.shuffle(order)
    return orders


def kendalls_w(ranks) -> float:
    """Kendall's coefficient of concordance of K rankings of L items, corrected for ties; K x L in, 0..1 out.

    W = 12 S / (K^2 (L^3 - L) - K sum T): S the squared deviations of the items' rank sums, T = sum of t^3 - t
    over the ties of one ranking. About 1/K by chance; nan if all is tied. GeoBenchError unless K, L >= 2 and
    ranks are finite.
    """
    ranks = np.asarray(ranks, dtype=float)
    if ranks.ndim != 2 or min(ranks.shape) < 2 or not np.isfinite(ranks).all():
        raise GeoBenchError(
            f"Kendall's W: expected at least 2 x 2 finite ranks (orders x items), got {ranks.shape}"
        )
    judges, size = ranks.shape
    below = (ranks[:, :, None] > ranks[:, None, :]).sum(axis=2)
    equal = (ranks[:, :, None] == ranks[:, None, :]).sum(axis=2)
    sums = (below + (equal + 1) / 2).sum(axis=0)
    bottom = judges**2 * (size**3 - size) - judges * (equal**2 - 1).sum()  # t tied items count t^2 - 1 each
    return float(12 * ((sums - sums.mean()) ** 2).sum() / bottom) if bottom else math.nan


def _check(lst_key: str, size: int, count: int) -> None:
    if size < 2 or count < 1:
        raise GeoBenchError(f"list `{lst_key}`: expected L >= 2 items and >= 1 order, got {size}, {count}")


def _draw(side: str, lst_key: str, size: int, count: int, seed: int) -> list[list[int]]:
    """Uniform permutations of the side's parity (of both for two items), distinct while the supply lasts."""
    _check(lst_key, size, count)
    bits = np.random.PCG64(int.from_bytes(sha256(f"{side}|{seed}|{lst_key}".encode()).digest(), "big"))
    supply = 2 if size == 2 else math.factorial(size) // 2
    orders: dict[tuple, None] = {}
    while len(orders) < min(count, supply):
        order = np.argsort(bits.random_raw(size), kind="stable").tolist()
        if size > 2 and is_odd(order) != (side == "search"):
            order[:2] = order[1::-1]
        orders[tuple(order)] = None
    drawn = list(orders)
    return [list(drawn[k % supply]) for k in range(count)]
