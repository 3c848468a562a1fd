"""What white-box searches find for what they spend; parts `choice`, `trajectories` and `random_search` of benchmarks/white_box.py.

Nothing here is a clock's race: choices are compared with exhaustive ones, attacks with random token search at equal forward tokens, and
seconds are those of the process alone. Finished targets are printed as they come (stderr) and the last line sums up.
"""

import json
import sys
import time
from types import SimpleNamespace

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
    """STS screened against STS exhaustive from one start on one order: losses after equal steps, and after equal seconds."""
    import numpy as np

    from geobench.attacks import sts

    rows, budget = [], {"sts_tokens": 20, "sts_orders": 1, "sts_candidates": asked.candidates or 24, "sts_top_k": 256}
    for number, place in TARGETS[:8]:
        curves = {}
        for verify in (VERIFY, None):
            made, _ = problem_of(sts, number, place, **budget, sts_verify=verify)
            state, spent, curve = sts.start(made), 0.0, []
            for step in range(asked.trajectory_steps):
                before = time.process_time()
                (loss,) = sts.step(made, state, step)
                spent += time.process_time() - before
                curve.append((spent, loss))
            curves[verify] = curve
        by_then = [loss for spent, loss in curves[None] if spent <= curves[VERIFY][-1][0]]  # empty: not one step done
        rows.append(say({
            "list": number, "item": place, "screened": curves[VERIFY][-1][1], "exhaustive": curves[None][-1][1],
            "exhaustive_by_then": by_then[-1] if by_then else None, "ratio": curves[None][-1][0] / curves[VERIFY][-1][0],
        }))  # fmt: skip
    gaps = [row["screened"] - row["exhaustive"] for row in rows]
    timed = [row["screened"] - row["exhaustive_by_then"] for row in rows if row["exhaustive_by_then"] is not None]
    row = {"part": "trajectories", "targets": len(rows), "steps": asked.trajectory_steps, "after_equal_steps": float(np.mean(gaps))}
    row |= {"worse": sum(g > 1e-4 for g in gaps), "after_equal_seconds": float(np.mean(timed)) if timed else None}
    row |= {"no_exhaustive_step_by_then": len(rows) - len(timed), "ratio": float(np.mean([r["ratio"] for r in rows]))}
    return row | {"failed": False}


BUDGETS = {
    "sts": {"sts_tokens": 8, "sts_steps": 5, "sts_candidates": 12, "sts_top_k": 64},
    "raf": {"raf_tokens": 4, "raf_steps": 7, "raf_top": 8},
    "stealthrank": {"stealthrank_tokens": 8, "stealthrank_steps": 9, "stealthrank_rows": 2, "sts_tokens": 8},
}


def random_search(asked, stage, drawn) -> dict:
    """Each attack against random token search that runs until it has spent as many forward tokens (a backward counts as two)."""
    import pandas as pd

    from geobench.stats import cluster_mean

    rows = []
    for method in asked.methods:
        for number, place in TARGETS:
            rows.append(say(_against_random(method, number, place)))
    frame, found = pd.DataFrame(rows), []
    for method, mine in frame.groupby("method"):
        for value in ("objective", "rank", "nats"):
            gap = cluster_mean(mine.assign(gap=mine[value] - mine[f"random_{value}"]), "gap")
            found.append({"method": method, "value": value, "own": float((mine[value] - mine[f"start_{value}"]).mean()),
                          "random": float((mine[f"random_{value}"] - mine[f"start_{value}"]).mean()),
                          "difference": gap.mean, "lo": gap.lo, "hi": gap.hi, "targets": len(mine)})  # fmt: skip
    return {"part": "random_search", "budgets": {m: BUDGETS[m] for m in asked.methods}, "results": found, "failed": False}


def _against_random(method: str, number: int, place: int) -> dict:
    import importlib

    from geobench.attacks import optimise, random_search
    from geobench.kernels import decoder

    module, budget = importlib.import_module(f"geobench.attacks.{method}"), BUDGETS[method]

    def run(module, made, ranker, until):
        state, before, step = module.start(made), dict(decoder.WORK), 0

        def spent():
            return decoder.WORK["forward"] - before["forward"] + 2 * (decoder.WORK["backward"] - before["backward"])

        while not until(step, spent()) and not state.get("finished"):
            module.step(made, state, step)
            step += 1
        cost, tested = spent(), []
        for slot in module.slots(made, state):
            tested.append(optimise._tested(made, ranker, {"suffix": made.text(slot)}, slot))
        best = min(tested, key=lambda row: row["objective"])
        return SimpleNamespace(cost=cost, objective=best["objective"], rank=best["mean_rank"], suffix=best["suffix"])

    made, ranker = problem_of(module, number, place, **budget, test_orders=2)
    tokens = budget.get(f"{method}_tokens")
    plain, _ = problem_of(random_search, number, place, sts_tokens=tokens, sts_candidates=7, sts_orders=2, test_orders=2)
    start = run(random_search, plain, ranker, lambda step, cost: True)
    own = run(module, made, ranker, lambda step, cost: step == budget[f"{method}_steps"])
    other = run(random_search, plain, ranker, lambda step, cost: cost >= own.cost)
    lst = made.task.list
    row = {"method": method, "dataset": lst.dataset, "list": lst.name, "target": place, "spent": own.cost, "random_spent": other.cost}
    for name, found in (("start_", start), ("", own), ("random_", other)):
        row |= {f"{name}objective": found.objective, f"{name}rank": found.rank, f"{name}suffix": found.suffix}
        row[f"{name}nats"] = nats(made.engine, lst.items[place - 1].description, found.suffix)
    return row


def nats(engine, text: str, suffix: str) -> float:
    """How unreadable a suffix is: mean negative log-likelihood of its tokens after the description, under the model itself."""
    import torch

    ids, known = (engine.tokenizer(t, add_special_tokens=False)["input_ids"] for t in (f"{text} {suffix}", text))
    with torch.inference_mode():
        logp = engine.model(torch.tensor([ids], device=engine.model.device)).logits[0, :-1].log_softmax(-1)
    return -float(logp[range(len(known) - 1, len(ids) - 1), ids[len(known) :]].mean())
