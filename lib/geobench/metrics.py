"""Effectiveness metrics, and the per-target table that every statistic starts from (detection: `auroc`).

Ranks are medians over the K orders of a list of L items; an item that a reply does not name has rank L+1.
"""

import numpy as np

from geobench.auroc import KEY, auroc, auroc_table, name_of
from geobench.errors import GeoBenchError, came

__all__ = ["LEVEL", "auroc", "auroc_table", "median_rank", "nrg", "per_target", "promote", "success", "top_k"]

LEVEL = 0.1  # a of Success@a and Promote@a in the papers, what a filter leaves, ladders and leaderboards: always measured


def nrg(before, after, size, clip: bool = True):
    """Normalised rank gain (r_before - r_after) / (L - 1), cut to [-1, 1] as in the paper (Eq. 1-2).

    Cutting matters only where a target goes between missing (L+1) and the first places; `clip=False` leaves
    it out.
    """
    gain = (np.asarray(before, float) - np.asarray(after, float)) / (np.asarray(size, float) - 1)
    return np.clip(gain, -1.0, 1.0) if clip else gain


def top_k(size, a: float):
    """Places that count as the top share `a` of L: max(1, ceil(a L)), safe from 0.1 * 30 being over 3."""
    return np.maximum(1, np.ceil(a * np.asarray(size) - 1e-9)).astype(int)


def success(after, size, a: float):
    """Success@a (Eq. 3): 1 where r_after is within the top k, else 0."""
    return (np.asarray(after, float) <= top_k(size, a)).astype(int)


def promote(before, after, size, a: float):
    """Promote@a (Eq. 4): 1 where r_after is within the top k and r_before was not, else 0."""
    return success(after, size, a) * (np.asarray(before, float) > top_k(size, a))


def median_rank(ranks):
    """Median over the orders: K ranks -> one, K x L -> L. Half ranks occur when K is even."""
    return np.median(np.asarray(ranks, float), axis=0)


def per_target(clean_records, edit_records, ranker: str, levels=()):
    """Table of one row per variant and target, sorted by variant, dataset, list, target.

    Columns: variant, ranker, dataset, list, target, L, r_before, r_after, nrg, and success@a, promote@a for
    LEVEL and each of `levels`. `clean_records` hold all items' ranks per order (`target` null, or set for orders of that target
    alone); `edit_records` the target's rank per order, and `variant`. GeoBenchError, naming the target, for a
    missing clean record, orders that differ from the clean list's, ranks outside 1..L+1 (or nan), and
    anything ranked twice.
    """
    import pandas as pd

    clean, edits = _by_key(clean_records, KEY), _by_key(edit_records, ("variant", *KEY))
    rows = [(key[0], ranker, *key[1:], *_before_after(clean, edits[key])) for key in sorted(edits)]
    table = pd.DataFrame(rows, columns=["variant", "ranker", *KEY, "L", "r_before", "r_after"])
    before, after, size = (table[column].to_numpy() for column in ("r_before", "r_after", "L"))
    table["nrg"] = nrg(before, after, size)
    for a in dict.fromkeys((LEVEL, *levels)):
        table[f"success@{a:g}"] = success(after, size, a)
        table[f"promote@{a:g}"] = promote(before, after, size, a)
    return table


def _by_key(records, key: tuple[str, ...]) -> dict[tuple, dict]:
    table: dict[tuple, dict] = {}
    for record in records:
        if missing := [k for k in key if k not in record and k != "target"]:
            raise GeoBenchError(
                f"{name_of(record)}: a rank record without {', '.join(missing)}: {came(record)}"
            )
        if table.setdefault(tuple(record.get(k) for k in key), record) is not record:
            raise GeoBenchError(f"{name_of(record)}: ranked twice; expected one record")
    return table


def _before_after(clean: dict, edit: dict) -> tuple[int, float, float]:
    """(L, r_before, r_after) of one edited target."""
    name, (dataset, lst, target) = name_of(edit), (edit.get(k) for k in KEY)
    record = clean.get((dataset, lst, target)) or clean.get((dataset, lst, None))
    if record is None:
        raise GeoBenchError(f"{name}: no rank record of the clean list; rank the clean list first")
    orders = record["orders"]
    if not orders or orders != edit["orders"]:
        raise GeoBenchError(f"{name}: ranked under other orders than the clean list: {came(edit['orders'])}")
    size = len(orders[0])
    if size < 2 or not isinstance(target, int) or not 1 <= target <= size:
        raise GeoBenchError(f"{name}: expected a target from 1 to L, in a list of L >= 2 items; L is {size}")
    before = _checked(record["ranks"], (len(orders), size), size, f"{name}: clean ranks")
    after = _checked(edit["ranks"], (len(orders),), size, f"{name}: ranks")
    return size, float(median_rank(before)[target - 1]), float(median_rank(after))


def _checked(ranks, shape: tuple, size: int, what: str) -> np.ndarray:
    """Ranks as numbers, of that shape, whole and within 1..L+1."""
    try:
        values = np.asarray(ranks)
    except ValueError:  # rows of several lengths
        values = np.empty(0)
    if values.shape != shape or values.dtype.kind not in "if" or not ((values >= 1) & (values <= size + 1) & (values % 1 == 0)).all():
        raise GeoBenchError(
            f"{what}: expected {' x '.join(map(str, shape))} from 1 to {size + 1}, got {came(ranks)}"
        )
    return values.astype(float)
