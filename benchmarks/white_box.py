"""White-box steps side by side with published schemes, correctness checked in the same run.

    PYTHONPATH=lib .venv/bin/python benchmarks/white_box.py [--parts exact screened raf stealthrank memory choice attention
        trajectories] [--candidates N] [--steps N] [--peer PYTHON]

--peer: the python of an environment with nanogcg 0.3.0 and transformers 4.47 (benchmarks/README.md says how to make it); without it
parts `exact` and `screened` report our seconds alone. One thread, SmolLM2-135M in float32, an embedded list with the target in the
middle, 20 suffix tokens, target "1. {Name}". Prints one JSON object per part; exits 1 when two ways of computing one number differ.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import white_box_search as found
import white_box_stages as stages
from white_box_stages import timed

for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
os.environ["OMP_NUM_THREADS"] = "1"

PEER = Path(__file__).parent / "peers" / "nanogcg_step.py"


def stage(list_number: int = 4, order: int = 0, size: int = 20, place: int | None = None, objective: str = "target"):
    """(engine, vocabulary, scene, slot) of one embedded list (number 4 has eight items), the target shown at `place`,
    by default in the middle."""
    import torch

    from geobench import catalog
    from geobench.attacks.base import Task
    from geobench.attacks.scene import scenes_of
    from geobench.attacks.vocabulary import vocabulary
    from geobench.models import open_model
    from geobench.orders import search_orders

    torch.set_num_threads(1)
    engine = open_model("smollm2-135m")
    lst = catalog.select(["kitchen", "outdoor", "services"], None, 1, 0)[list_number].list
    shown = tuple(search_orders(lst.key, len(lst), order + 1, 0)[order])
    words = vocabulary(engine)
    place = len(lst) // 2 if place is None else place % len(lst)
    scenes, slot = scenes_of(Task(lst, shown[place] + 1), engine, [shown], size, words, {}, objective=objective)
    return engine, words, scenes[0], slot


def drawn(slot, gradient, words, count: int, seed: int) -> list[list[int]]:
    """`count` distinct one-token changes at random places from the gradient's 256 best."""
    rng, allowed = random.Random(seed), words.allowed(len(slot))
    top = (-gradient[:, : allowed.shape[1]]).masked_fill(~allowed, float("-inf")).topk(256).indices.tolist()
    found: dict[tuple, None] = {}
    while len(found) < count:
        place = rng.randrange(len(slot))
        found[(*slot[:place], rng.choice(top[place]), *slot[place + 1 :])] = None
    return [list(s) for s in found if list(s) != slot]


def peer(python: str, engine, here, slot, candidates, batch) -> dict:
    from geobench.weights import locate

    asked = {"weights": str(locate(engine.spec)[0]), "head": here.head, "slot": slot, "tail": here.tail, "goal": here.goal}
    asked |= {"candidates": candidates, "batch": batch, "threads": 1}
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, str(PEER)], input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True, env=clean)
    return json.loads(done.stdout.splitlines()[-1])


def floor_seconds(engine, here, slot, candidates) -> tuple[float, float]:
    """(GFLOP of the candidates' exact losses from their first change on, best GFLOP/s of a matrix product in this run)."""
    import torch

    from geobench.kernels.candidates import _first_change

    c = engine.model.config
    head = c.hidden_size // c.num_attention_heads
    attention = 2 * c.hidden_size * c.hidden_size + 2 * c.hidden_size * c.num_key_value_heads * head
    layer = attention + 3 * c.hidden_size * c.intermediate_size
    kv = 2 * c.hidden_size * c.num_key_value_heads * head
    total, rest, goal = 0.0, len(here.tail) + len(here.goal) - 1, len(here.goal)
    for candidate in candidates:
        rows, past = len(slot) - _first_change(slot, candidate) + rest, len(here.head) + _first_change(slot, candidate)
        total += 2 * rows * layer * (c.num_hidden_layers - 1) + 2 * rows * kv
        total += 2 * goal * (layer - kv) + 2 * goal * c.hidden_size * c.vocab_size
        total += 4 * c.hidden_size * rows * (past + rows / 2) * (c.num_hidden_layers - 1)
    best = 0.0
    for m in (512, 1024, 1536):
        a, w = torch.randn(m, c.hidden_size), torch.randn(c.intermediate_size, c.hidden_size)
        for _ in range(8):
            _, seconds = timed(lambda: torch.nn.functional.linear(a, w))
            best = max(best, 2 * a.numel() * len(w) / seconds / 1e9)
    return total / 1e9, best


def exact(asked) -> dict:
    """Gradient and exact losses of one step, against nanoGCG's default batch (all) and batch 4."""
    from geobench.kernels import candidates

    engine, words, here, slot = stage()
    base = candidates.incumbent(engine.model, here.past, slot, here.tail, here.goal)  # warm
    slots = drawn(slot, base.gradient, words, asked.candidates or 64, 0)
    base, gradient = timed(lambda: candidates.incumbent(engine.model, here.past, slot, here.tail, here.goal))
    losses, seconds = timed(lambda: candidates.candidate_losses(engine.model, here.past, slots, here.tail, here.goal, base=base))
    work, rate = floor_seconds(engine, here, slot, slots)
    row = {"part": "exact", "tokens": [len(here.head), len(slot), len(here.tail), len(here.goal)], "candidates": len(slots)}
    row |= {"gradient": gradient, "losses": seconds, "step": gradient + seconds, "share_of_floor": work / rate / seconds}
    row["gemm_gflops"] = rate
    for name, batch in (("default", None), ("batch_4", 4)) if asked.peer else ():
        other = peer(asked.peer, engine, here, slot, slots, batch)
        row[f"nanogcg_{name}"] = other["gradient"] + other["losses_seconds"]
        row[f"ratio_{name}"] = row[f"nanogcg_{name}"] / row["step"]
        row["max_difference"] = max(row.get("max_difference", 0.0), *(abs(a - b) for a, b in zip(losses, other["losses"])))
    row["failed"] = row.get("max_difference", 0.0) > 1e-4
    return row


def screened(asked) -> dict:
    """A screened step with the best 8 verified exactly."""
    from geobench.kernels import candidates

    engine, words, here, slot = stage()
    base, gradient = timed(lambda: candidates.incumbent(engine.model, here.past, slot, here.tail, here.goal))
    slots = drawn(slot, base.gradient, words, asked.candidates or 128, 0)
    (loss, best), seconds = timed(lambda: found.screened_best(engine.model, here.past, base, slots, here.tail, here.goal))
    again = candidates.candidate_losses(engine.model, here.past, [slots[best]], here.tail, here.goal)[0]
    row = {"part": "screened", "candidates": len(slots), "gradient": gradient, "step": gradient + seconds}
    row["failed"] = abs(again - loss) > 1e-4
    if asked.peer:
        other = peer(asked.peer, engine, here, slot, slots, None)
        row["nanogcg_default"] = other["gradient"] + other["losses_seconds"]
        row |= {"ratio_default": row["nanogcg_default"] / row["step"], "same_choice": other["losses"].index(min(other["losses"])) == best}
        row["failed"] |= abs(other["losses"][best] - loss) > 1e-4
    return row


def memory(asked) -> dict:
    """Peak memory of a process that screens 64, 128 or 512 candidates (MiB)."""
    peaks = {}
    for count in (64, 128, 512):
        command = [sys.executable, __file__, "--parts", "screened", "--candidates", str(count), "--report-peak"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks[count] = json.loads(done.stdout.splitlines()[-1])["peak_mib"]
    return {"part": "memory", "peak_mib": peaks, "failed": False}


def main() -> int:
    parts = {f.__name__: f for f in (exact, screened, memory)}
    parts |= {f.__name__: partial(f, stage=stage) for f in (stages.raf, stages.stealthrank)}
    parts |= {f.__name__: partial(f, stage=stage, drawn=drawn) for f in (found.choice, found.attention, found.trajectories)}
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--candidates", type=int, default=None, help="default: 64, but 128 in screened, 32 in choice")
    parser.add_argument("--steps", type=int, default=50, help="of choice and attention")
    parser.add_argument("--seconds", type=float, default=60.0, help="of trajectories, per target")
    parser.add_argument("--methods", nargs="+", default=list(found.BUDGETS), help="of trajectories")
    parser.add_argument("--peer", default=os.environ.get("NANOGCG_PYTHON"))
    parser.add_argument("--report-peak", action="store_true")
    asked, failed = parser.parse_args(), False
    for name in asked.parts:
        row = parts[name](asked)
        failed |= row["failed"]
        print(json.dumps(row), flush=True)
    if asked.report_peak:
        print(json.dumps({"peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
