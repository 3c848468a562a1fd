"""The chosen heads of SmolLM2's attention read-out against all of its heads, on lists that had no part in the choice.

    PYTHONPATH=lib .venv/bin/python benchmarks/heads.py [--orders 10] [--lists 10]

Per way and data set: Kendall's W of the ranks over three evaluation orders, and over all the mean Spearman correlation of the
ranks with the places that the prompt shows. `embedded`: the lists of the default run. `planted`: each of them twice with an item of
another data set in it, and how many of these stand in the lower half (median rank). `ragroll`: where GEOBENCH_DATA_MIRROR has it, evenly
spaced lists of its alphabet. Time: whole read-outs of the embedded lists, list by list in turn, seconds of one thread's processor time;
with all heads chosen the scores must equal those of all heads to 1e-6. Prints one JSON object; exits 1 when scores differ or a figure
misses its goal (W 0.90 and 0.85, correlation 0.15 and 0.2 either way, every planted item in the lower half, 1.4x).
"""

import argparse
import json
import os
import sys
import time

for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)

import numpy as np  # noqa: E402


def ranks_of(ranker, lst, count: int) -> tuple[list, np.ndarray, float]:
    """(orders, ranks [orders, items], processor seconds) of a clean list."""
    from geobench.orders import evaluation_orders
    from geobench.rankers.base import Job

    orders = [tuple(int(i) for i in order) for order in evaluation_orders(lst.key, len(lst), count, 0)]
    began = time.process_time()
    (_, ranking), = ranker.rank([Job(lst, tuple(orders))])  # fmt: skip
    return orders, np.array(ranking.ranks, float), time.process_time() - began


def figures(ranker, lists, count: int) -> dict:
    """Mean W and order correlation over lists."""
    from scipy.stats import spearmanr

    from geobench.orders import kendalls_w

    w, places = [], []
    for lst in lists:
        orders, ranks, _ = ranks_of(ranker, lst, count)
        w.append(kendalls_w(ranks[:3]))
        places.append(np.mean([spearmanr(np.argsort(order), row).statistic for order, row in zip(orders, ranks)]))
    return {"lists": len(lists), "w": round(float(np.mean(w)), 3), "places": round(float(np.mean(places)), 3)}


def planted(lists) -> list:
    """(list with a foreign item, the item's place from 0), two per list."""
    from geobench.lists import make_list

    made = []
    for n, lst in enumerate(lists):
        other = [o for o in lists if o.dataset != lst.dataset]
        for k in range(2):
            items = other[(n + k) % len(other)].items
            rows, item, at = [(i.name, i.description) for i in lst.items], items[(n + 3 * k) % len(items)], (3 + 5 * k) % len(lst)
            rows.insert(at, (item.name, item.description))
            made.append((make_list("planted", f"{lst.name} {k}", lst.noun, rows), at))
    return made


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, default=10)
    parser.add_argument("--lists", type=int, default=10, help="lists of Ragroll")
    asked = parser.parse_args()

    from geobench import catalog, heads, paths
    from geobench.kernels.decoder import all_heads
    from geobench.models import open_model
    from geobench.rankers.attention import AttentionRanker

    engine = open_model("smollm2-135m")
    chosen, everything, whole = (AttentionRanker("attention", engine) for _ in range(3))
    everything.heads, file = all_heads(engine.model), heads.head_file(engine.spec)
    whole.heads = type(chosen.heads)({layer: (list(range(9)), [1.0] * 9) for layer in range(30)})
    embedded = [lst for lists in catalog.load_embedded().values() for lst in lists]
    ways, row = {"chosen": chosen, "all": everything}, {"heads": len(file.heads), "layers": chosen.heads.depth}

    seconds, worst = dict.fromkeys(ways, 0.0), 0.0
    ranks_of(chosen, embedded[0], 1)  # warm up
    for n, lst in enumerate(embedded):
        for way in sorted(ways, reverse=n % 2 == 1):
            seconds[way] += ranks_of(ways[way], lst, asked.orders)[2]
        from geobench.rankers.base import Job

        order = (tuple(range(len(lst))),)
        a, b = (np.array(next(iter(r.rank([Job(lst, order)])))[1].scores) for r in (everything, whole))
        worst = max(worst, float(np.abs(a - b).max()))
    row |= {"seconds": {k: round(v, 1) for k, v in seconds.items()}, "speed": round(seconds["all"] / seconds["chosen"], 2), "differ": worst}

    foreign = planted(embedded)
    for way, ranker in ways.items():
        row[way] = {"embedded": figures(ranker, embedded, asked.orders)}
        medians = [(float(np.median(ranks_of(ranker, lst, asked.orders)[1][:, at])), len(lst)) for lst, at in foreign]
        row[way]["planted in the lower half"] = f"{sum(m > size / 2 for m, size in medians)} of {len(medians)}"
        if paths.mirror():
            lists = catalog.load_dataset("ragroll")
            step = len(lists) / asked.lists
            row[way]["ragroll"] = figures(ranker, [lists[int(n * step)] for n in range(asked.lists)], asked.orders)
    print(json.dumps(row))
    found = row["chosen"]
    bad = worst > 1e-6 or row["speed"] < 1.4 or not found["planted in the lower half"].startswith(f"{len(foreign)} of")
    for name, w, most in (("embedded", 0.90, 0.15), ("ragroll", 0.85, 0.2)):
        bad |= name in found and (found[name]["w"] < w or abs(found[name]["places"]) > most)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
