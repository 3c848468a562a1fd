"""Whole-run time of the attention read-out with shared prefixes against the same read-out recomputing every prompt.

    PYTHONPATH=lib .venv/bin/python benchmarks/ranking.py [--lists N] [--targets N] [--orders N] [--variants N]

All rank the same lists, targets, variants and orders, side by side in one process, list by list in turn; the scores must agree to
1e-5. The read-out asks two prompts per ranking, one with the query and one with the content-free query. `recomputed` runs both from
their first token; `once` runs the items once and both queries after them; `shared` (what the ranker does) also takes everything before
the edited item from the clean pass. Prints one JSON object. Exits 1 when scores differ or recomputed / shared is under 2.
"""

import argparse
import json
import os
import sys
import time

for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)

import numpy as np  # noqa: E402


def jobs(selected, orders: int, variants: int) -> list:
    """Per list: the clean job, then every target's variants (a suffix, or a rewrite of half the words) under the same orders."""
    from geobench.orders import evaluation_orders
    from geobench.rankers.base import Job

    shown = tuple(tuple(int(i) for i in o) for o in evaluation_orders(selected.list.key, len(selected.list), orders, 0))
    made = [Job(selected.list, shown)]
    for target in selected.targets:
        text = selected.list.items[target - 1].description
        words = text.split()
        for n in range(variants):
            edited = f"{text} Variant {n}: built to last and easy to use." if n % 2 else " ".join(words[len(words) // 2 :] + words[: n + 1])
            made.append(Job(selected.list, shown, target, edited, f"v{n}"))
    return made


def recomputed(ranker, work) -> list:
    """Scores per job, every prompt from its first token."""
    import torch

    from geobench.kernels import decoder
    from geobench.kernels.readout import item_scores

    model, found = ranker.engine.model, []
    for job in work:
        rows = []
        for order in job.orders:
            ids, spans = ranker.tokens(job, order)
            with torch.inference_mode():
                query, neutral = (
                    decoder.forward(
                        model, torch.tensor([ids + asked]), read=torch.arange(len(ids), len(ids) + len(asked)), only_attention=True
                    ).attention[:, : len(ids)].mean(0)
                    for asked in ranker.queries(job)
                )  # fmt: skip
                shown = item_scores(query - neutral, spans).tolist()
            rows.append([shown[order.index(i)] for i in range(len(order))])
        found.append(rows)
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, default in (("lists", 2), ("targets", 2), ("orders", 2), ("variants", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    from geobench import catalog
    from geobench.models import open_model
    from geobench.rankers.attention import AttentionRanker

    engine = open_model("smollm2-135m")
    ways = {
        "shared": lambda work: [r.scores for _, r in AttentionRanker("attention", engine).rank(work)],
        "once": lambda work: [r.scores for _, r in AttentionRanker("attention", engine, share=False).rank(work)],
        "recomputed": lambda work: recomputed(AttentionRanker("attention", engine), work),
    }
    chosen = catalog.select(["kitchen", "outdoor", "services"], None, asked.targets, 0)[: asked.lists]
    ways["once"](jobs(chosen[0], 1, 0))  # warm up
    seconds, rankings, worst = dict.fromkeys(ways, 0.0), 0, 0.0
    for n, selected in enumerate(chosen):
        work, scores = jobs(selected, asked.orders, asked.variants), {}
        for way in sorted(ways, reverse=n % 2 == 1):
            start = time.perf_counter()
            scores[way] = ways[way](work)
            seconds[way] += time.perf_counter() - start
        rankings += sum(len(job.orders) for job in work)
        for a, b, c in zip(*scores.values()):
            worst = max(worst, *(float(np.abs(np.subtract(a, other)).max()) for other in (b, c)))
    ratio = seconds["recomputed"] / seconds["shared"]
    row = {"rankings": rankings, "seconds": seconds, "ratio": ratio, "ratio_once": seconds["once"] / seconds["shared"]}
    print(json.dumps(row | {"max_difference": worst}))
    return int(worst > 1e-5 or ratio < 2)


if __name__ == "__main__":
    sys.exit(main())
