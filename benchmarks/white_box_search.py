"""What white-box searches find for what they spend; parts `choice`, `attention` and `trajectories` of benchmarks/white_box.py.

Nothing here is a clock's race: choices are compared with exhaustive ones, attacks with random token search at equal forward tokens, and
seconds are those of the process alone. Finished targets are printed as they come (stderr) and the last line sums up.
"""

import json
import sys
import time

VERIFY = 8  # of screened candidates, computed exactly
TARGETS = [(number, place) for number in range(6) for place in (1, 4)]  # (list, item), the embedded lists in the catalog's order


def screened_best(model, past, base, slots, tail, goal, kernel=None) -> tuple[float, int]:
    """(exact loss, number) of the best candidate when only the best few screened ones are computed exactly."""
    from geobench.kernels import candidates

    kernel = kernel or candidates
    screened = kernel.screened_losses(model, past, base, slots, tail, goal)
    return candidates.verified(
        screened, VERIFY, lambda numbers: kernel.candidate_losses(model, past, [slots[n] for n in numbers], tail, goal, base=base)
    )[0]


def say(row: dict) -> dict:
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def choice(asked, stage, drawn) -> dict:
    """How often the screened choice is the exhaustive one, over lists, orders, places and five successive stages of optimisation."""
    from geobench.kernels import candidates

    same, steps, ranks = 0, 0, []
    while steps < asked.steps:
        start = steps // 5
        engine, words, here, slot = stage(start % 6, start // 6, place=start)
        for _ in range(min(5, asked.steps - steps)):
            base = candidates.incumbent(engine.model, here.past, slot, here.tail, here.goal)
            slots = drawn(slot, base.gradient, words, asked.candidates or 32, 1000 + steps)
            losses = candidates.candidate_losses(engine.model, here.past, slots, here.tail, here.goal, base=base)
            screen = candidates.screened_losses(engine.model, here.past, base, slots, here.tail, here.goal)
            best = losses.index(min(losses))
            ranks.append(sorted(screen).index(screen[best]))
            same, steps, slot = same + (ranks[-1] < VERIFY), steps + 1, slots[best] if losses[best] < base.loss else slot
            say({"part": "choice", "steps": steps, "screen_rank_of_best": ranks[-1], "loss": losses[best]})
    row = {"part": "choice", "steps": steps, "candidates": len(slots), "verify": VERIFY, "same": same / steps}
    return row | {"screen_rank_of_best": ranks, "failed": False}


def attention(asked, stage, drawn) -> dict:
    """Steps under the attention objective: the screened choice against the exhaustive one over lists, orders and places, and on every
    tenth step the seconds against losses computed one by one through all layers, gradient included on either side."""
    from white_box_stages import timed

    from geobench.kernels import readout
    from geobench.kernels.decoder import Heads

    ranks, gaps, ours, one_by_one = [], [], 0.0, 0.0
    while len(ranks) < asked.steps:
        start = len(ranks) // 5
        engine, words, here, slot = stage(start % 6, start // 6, place=start, objective="attention")
        model, wanted, last = engine.model, here.wanted, engine.model.config.num_hidden_layers - 1
        through = readout.Wanted(Heads(wanted.heads.layers | {last: ([0], [0.0])}), *list(vars(wanted).values())[1:])
        for _ in range(min(5, asked.steps - len(ranks))):
            base, gradient = timed(lambda: readout.incumbent(model, here.past, slot, here.tail, wanted))
            slots = drawn(slot, base.gradient, words, asked.candidates or 64, 1000 + len(ranks))
            (loss, number), seconds = timed(lambda: screened_best(model, here.past, base, slots, here.tail, wanted, readout))
            losses = readout.candidate_losses(model, here.past, slots, here.tail, wanted, base=base)
            if len(ranks) % 10 == 0:
                plain, spent = timed(lambda: [readout.loss_of(model, here.past, through, rest([*s, *here.tail], model), len(s)).item()
                                              for s in slots])  # fmt: skip
                _, whole = timed(lambda: readout.incumbent(model, here.past, slot, here.tail, through))
                ours, one_by_one = ours + gradient + seconds, one_by_one + whole + spent
                gaps += [abs(a - b) for a, b in zip(plain, losses)]
            gaps.append(abs(loss - losses[number]))
            order = sorted(range(len(slots)), key=losses.__getitem__)
            ranks.append(order.index(number))
            slot = slots[order[0]] if losses[order[0]] < base.loss else slot
            say({"part": "attention", "step": len(ranks), "chosen_stands_at": ranks[-1], "loss": losses[order[0]], "seconds": seconds})
    row = {"part": "attention", "steps": len(ranks), "candidates": len(slots), "verify": VERIFY, "same": ranks.count(0) / len(ranks)}
    row |= {"chosen_stands_at": ranks, "one_by_one": one_by_one, "ours": ours, "ratio": one_by_one / ours, "max_difference": max(gaps)}
    return row | {"failed": max(gaps) > 1e-5}


def rest(ids: list[int], model):
    import torch

    return torch.tensor([ids], device=model.device)


def problem_of(module, number: int, place: int, **budget):
    """(problem, ranker) of a method on one item of an embedded list."""
    from geobench import catalog
    from geobench.attacks import optimise
    from geobench.attacks.base import Task
    from geobench.attacks.vocabulary import vocabulary
    from geobench.models import open_model
    from geobench.params import load
    from geobench.rankers import open_ranker

    settings = load("smoke", budget)
    engine, lst = open_model("smollm2-135m"), catalog.select(["kitchen", "outdoor", "services"], None, 1, 0)[number].list
    made = optimise.problem(module, Task(lst, place), engine, settings, vocabulary(engine), 0, {})
    return made, open_ranker(settings.optimisation_ranker)


def trajectories(asked, stage, drawn) -> dict:
    """Held-out rank against seconds of the process, per method, under the attention objective: at each mark the suffix of best mean rank on
    two held-out search orders (the latest on ties), judged on three evaluation orders. Seconds of these tests are not counted. Then each
    attack against random token search at equal forward tokens (a backward counts as two)."""
    import numpy as np

    marks, found, runs = [asked.seconds * part for part in (1 / 6, 1 / 3, 1 / 2, 1)], [], {}
    for method in asked.methods:
        runs[method] = rows = [say(_trajectory(method, number, place, marks)) for number, place in TARGETS]
        found.append({"method": method, "clean": float(np.mean([row["clean"] for row in rows])), "seconds": marks,
                      "rank": np.mean([row["ranks"] for row in rows], 0).tolist(), "first": sum(row["ranks"][-1] == 1 for row in rows),
                      "steps": float(np.mean([row["steps"] for row in rows])), "targets": len(rows)})  # fmt: skip
    others = [method for method in runs if method != "random_search" and "random_search" in runs]
    against = [_against_random(method, runs[method], runs["random_search"]) for method in others]
    return {"part": "trajectories", "budgets": BUDGETS, "results": found, "against_random_search": against, "failed": False}


def _trajectory(method: str, number: int, place: int, marks: list[float]) -> dict:
    import importlib

    from geobench.attacks.base import appended
    from geobench.attacks.optimise import _tested
    from geobench.kernels.decoder import WORK
    from geobench.orders import evaluation_orders
    from geobench.rankers.base import Job

    module = importlib.import_module(f"geobench.attacks.{method}")
    made, ranker = problem_of(module, number, place, **BUDGETS[method], test_orders=2)
    lst = made.task.list
    orders = tuple(map(tuple, evaluation_orders(lst.key, len(lst), 3, 0)))

    def judged(suffix: str | None) -> float:
        job = Job(lst, orders) if suffix is None else Job(lst, orders, place, appended(made.task, suffix)["text"], method)
        (_, ranking), = ranker.rank([job])  # fmt: skip
        return sum(ranks[place - 1] for ranks in ranking.ranks) / len(orders)

    state, spent, tokens, step, tested, ranks, curve = module.start(made), 0.0, 0, 0, [], [], []
    while len(ranks) < len(marks):
        began, before = time.process_time(), dict(WORK)
        module.step(made, state, step)
        spent, step = spent + time.process_time() - began, step + 1
        tokens += WORK["forward"] - before["forward"] + 2 * (WORK["backward"] - before["backward"])
        tested += [_tested(made, ranker, {"suffix": made.text(slot)}, slot) for slot in module.slots(made, state)]
        best = min(reversed(tested), key=lambda row: row["mean_rank"])
        curve.append((tokens, best["mean_rank"], min(row["objective"] for row in tested)))
        while len(ranks) < len(marks) and (state.get("finished") or spent >= marks[len(ranks)]):
            ranks.append(judged(best["suffix"]))
    row = {"part": "trajectories", "method": method, "dataset": lst.dataset, "list": lst.name, "target": place, "clean": judged(None)}
    return row | {"ranks": ranks, "steps": step, "spent": round(spent, 1), "suffix": best["suffix"], "curve": curve}


def _against_random(method: str, rows: list[dict], others: list[dict]) -> dict:
    """Mean differences of what is best after the tokens that both have run, with intervals over lists."""
    import pandas as pd

    from geobench.stats import cluster_mean

    gaps = []
    for row, other in zip(rows, others, strict=True):
        both = min(row["curve"][-1][0], other["curve"][-1][0])
        a, b = ([point for point in one["curve"] if point[0] <= both] or one["curve"][:1] for one in (row, other))
        gaps.append({k: row[k] for k in ("dataset", "list", "target")} | {"rank": a[-1][1] - b[-1][1], "objective": a[-1][2] - b[-1][2]})
    found = {"method": method, "targets": len(gaps)}
    for value in ("rank", "objective"):
        gap = cluster_mean(pd.DataFrame(gaps), value)
        found |= {value: round(gap.mean, 3), f"{value}_interval": [round(gap.lo, 3), round(gap.hi, 3)]}
    return found


COMMON = {"objective": "attention", "white_box_start": "description"}
STS = {"sts_tokens": 12, "sts_steps": 6, "sts_candidates": 64, "sts_top_k": 64, "sts_orders": 4, "sts_verify": 4, "sts_merge": 8}
BUDGETS = {
    "sts": COMMON | STS,
    "raf": COMMON | {"raf_tokens": 12, "raf_steps": 40, "raf_top": 64, "raf_verify": 8, "raf_patience": 3, "raf_orders": 4},
    "stealthrank": COMMON | {"stealthrank_tokens": 12, "stealthrank_steps": 40, "stealthrank_rows": 2, "stealthrank_orders": 4},
    "random_search": COMMON | STS,
}
