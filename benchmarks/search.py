"""Claim-pair likelihoods with a shared context prefix against scoring every statement from scratch.

    PYTHONPATH=lib python benchmarks/search.py [--instances 3] [--repeat 3] [--model smollm2-135m]

Prints one JSON line; exits with 1 if the shared prefix is less than twice as fast or any log-probability differs by more than 1e-4.
Both ways run alternately on the same prompts (three sources of an embedded query under ID, three claim pairs); medians of `repeat` rounds.
"""

import argparse
import json
import sys
import time

from geobench.models import open_model
from geobench.search import context, likelihood
from geobench.search.corpus import load_instances

LEAST, TOLERANCE = 2.0, 1e-4


def prompts(count: int):
    """(messages, statements) of the first instances, with three whole sources each, the target among them."""
    for one in load_instances()[:count]:
        order = [one.target, *(n for n in range(1, 6) if n != one.target)][:3]
        sources = one.documents("id")
        shown = [context.Passage(k, n, sources[n - 1].title, sources[n - 1].url, sources[n - 1].text) for k, n in enumerate(order, 1)]
        pairs = [*zip(one.false_paraphrases, one.true_paraphrases), (one.false_claim, one.true_statement)]
        yield context.messages(one.query, shown), [s for pair in pairs for s in pair]


def timed(engine, tasks, shared: bool) -> tuple[float, list[float]]:
    """Seconds and log-probabilities of all statements of all prompts."""
    start = time.perf_counter()
    values = [v for messages, statements in tasks for v in likelihood.statement_logprobs(engine, messages, statements, shared)]
    return time.perf_counter() - start, values


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    engine, tasks = open_model(args.model), list(prompts(args.instances))
    timed(engine, tasks[:1], True)
    seconds = {True: [], False: []}
    for _ in range(args.repeat):
        for shared in (True, False):
            spent, values = timed(engine, tasks, shared)
            seconds[shared].append(spent)
            if shared:
                fast = values
    difference = max(abs(a - b) for a, b in zip(fast, values))
    quick, slow = (sorted(seconds[shared])[len(seconds[shared]) // 2] for shared in (True, False))
    row = {
        "benchmark": "claim_pair_likelihood", "model": args.model, "prompts": len(tasks), "statements": len(values),
        "prompt_tokens": [len(engine.encode_chat(m)) for m, _ in tasks], "shared_s": round(quick, 3), "scratch_s": round(slow, 3),
        "speedup": round(slow / quick, 2), "largest_difference": difference,
    }  # fmt: skip
    print(json.dumps(row))
    return int(slow / quick < LEAST or difference > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
