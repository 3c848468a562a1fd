"""How a ranker behaves on clean lists: does its answer depend on the order that it is shown?"""

from geobench.orders import kendalls_w
from geobench.rankers import parse_name
from geobench.ranking import read_ranks


def ranker_table(work, rankers: list[str]):
    """One row per ranker: mean Kendall's W over orders, mean Spearman correlation of ranks with places, and parse rates."""
    import numpy as np
    import pandas as pd
    from scipy.stats import spearmanr

    rows = []
    for ranker in rankers:
        clean, edited = read_ranks(work, ranker)
        several = [r for r in clean if len(r["orders"]) > 1]
        pairs = [pair for r in clean for pair in zip(r["orders"], r["ranks"]) if len(set(pair[1])) > 1]
        copies = [spearmanr(np.argsort(order), ranks).statistic for order, ranks in pairs]
        status = [s for r in (*clean, *edited) for s in r["status"] or ()]
        order_free = parse_name(ranker)[1] in ("cross_encoder", "bi_encoder", "bm25")
        rows.append({
            "ranker": ranker,
            "kendalls_w": float(np.mean([kendalls_w(r["ranks"]) for r in several])) if several and not order_free else np.nan,
            "copies_input": float(np.mean(copies)) if copies and not order_free else np.nan,
            "rankings": sum(len(r["orders"]) for r in (*clean, *edited)),
            "parsed_ok": float(np.mean([s == "ok" for s in status])) if status else np.nan,
            "missing_or_cut": float(np.mean([s in ("missing", "cut_off", "empty") for s in status])) if status else np.nan,
        })  # fmt: skip
    return pd.DataFrame(rows)
