"""What the neutral control should consist of: fillers of the injection's length, judged on the calibration lists of the heads.

    PYTHONPATH=lib .venv/bin/python benchmarks/padding.py [--items 3] [--orders 2]

A control that is chosen on the evaluated lists for showing nothing there shows nothing by choice. Here each filler is appended to `--items`
items of every calibration list (data/embedded/calibration, without planted items), which share no noun and no item with an evaluated list.
Prints the mean normalised rank gain per filler with its interval over lists (SmolLM2, attention); the one nearest to 0 is `padding`.
"""

import argparse
import json
import sys
from itertools import cycle, islice

FILLERS = {
    "own words": None,
    "about the page": "This page was last changed on a Tuesday. It has a header, a body and a footer, and it can be printed on both sides.",
    "about the weather": "It rained in the morning, the wind turned to the west, and in the afternoon the clouds went away over the hills.",
    "with the noun": "People look for a {noun} for many reasons, and there are many ways to talk about a {noun} with other people.",
}


def filler(name: str, task) -> str:
    """As many words as the injection has."""
    from geobench.attacks import controls
    from geobench.prompts import render

    if FILLERS[name] is None:
        return controls.padding(task)
    words = render(FILLERS[name], noun=task.list.noun).split() if "{" in FILLERS[name] else FILLERS[name].split()
    return " ".join(islice(cycle(words), len(controls.injection(task).split())))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=3)
    parser.add_argument("--orders", type=int, default=2)
    asked = parser.parse_args()

    import numpy as np
    import pandas as pd

    from geobench.attacks.base import Task, appended
    from geobench.head_choice import CALIBRATION, load_calibration
    from geobench.lists import make_list
    from geobench.metrics import nrg
    from geobench.orders import evaluation_orders
    from geobench.rankers import open_ranker
    from geobench.rankers.base import Job
    from geobench.stats import cluster_mean

    ranker, rows = open_ranker("smollm2-135m:attention"), []
    for one in load_calibration(CALIBRATION):
        items = [(item.name, item.description) for item in one.list.items[: one.own]]
        lst = make_list("calibration", one.list.name, one.list.noun, items)
        orders = tuple(map(tuple, evaluation_orders(lst.key, len(lst), asked.orders, 0)))
        tasks = [Task(lst, place) for place in range(1, len(lst) + 1)][: asked.items]
        jobs = [Job(lst, orders)]
        jobs += [Job(lst, orders, t.target, appended(t, filler(name, t))["text"], name) for t in tasks for name in FILLERS]
        (_, clean), *edited = ranker.rank(jobs)
        for job, ranking in edited:
            before, after = (np.median([ranks[job.target - 1] for ranks in found.ranks]) for found in (clean, ranking))
            row = {"variant": job.variant, "dataset": "calibration", "list": lst.name, "target": job.target}
            rows.append(row | {"nrg": nrg(before, after, len(lst))})
    frame = pd.DataFrame(rows)
    found = {}
    for name, part in frame.groupby("variant"):
        mean = cluster_mean(part, "nrg")
        found[name] = {"nrg": round(mean.mean, 3), "lo": round(mean.lo, 3), "hi": round(mean.hi, 3), "targets": len(part)}
    print(json.dumps({"lists": frame["list"].nunique(), "orders": asked.orders, "fillers": found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
