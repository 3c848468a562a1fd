"""Time of the `attention` and `generate` read-outs as a run has them, against plain ways to compute the same ranks.

    PYTHONPATH=lib .venv/bin/python benchmarks/ranking.py [--read-out generate] [--lists N] [--targets N] [--orders N] [--variants N]

`attention`: shared prefixes against recomputing every prompt. All rank the same lists, targets, variants and orders, side by side in one
process, list by list in turn; the scores must agree to 1e-4 of their
standard deviation (they are weighted sums). The read-out asks two prompts per ranking, one with the query and one with the
content-free query. `recomputed` runs both from their first token; `once` runs the items once and both queries after them; `shared` (what
the ranker does) also takes everything before the edited item from the clean pass. Exits 1 when scores differ or
recomputed / shared is under 2.

`generate`: SmolLM2 on lists of Ragroll where GEOBENCH_DATA_MIRROR has them (else the embedded ones), targets at the places that the
orders give them. `library` is what a run does: the clean prompt's beginning computed once per order, replies ended once the list is
there, batches of --batch. `lone` and `padded` are the model's own generate, one prompt at a time and in left-padded batches, on
--sample edited jobs spread over the work. A naive whole run ranks each target before and after each edit, alone. `--vllm PYTHON` also
runs the library on vLLM, in that Python's environment. Ratios are of processor seconds per ranking, which other load on the machine
changes less than the clock's. Exits 1 when ranks differ, or the ratios are under 3 (lone), 2 (padded) and 6 (naive whole run).

Both print one JSON object.
"""

import argparse
import json
import os
import sys
import time

for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
sys.path.append(sys.path.pop(0))  # statistics.py beside this file must not hide the standard library's from vLLM

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
                        model, torch.tensor([ids + asked]), read=torch.arange(len(ids), len(ids) + len(asked)), heads=ranker.heads
                    ).attention[0, :, : len(ids)].mean(0)
                    for asked in ranker.queries(job)
                )  # fmt: skip
                shown = item_scores(query - neutral, spans).tolist()
            rows.append([shown[order.index(i)] for i in range(len(order))])
        found.append(rows)
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--read-out", choices=("attention", "generate"), default="attention")
    for name, default in (("lists", 2), ("targets", 2), ("orders", 2), ("variants", 10), ("batch", 16), ("tokens", 200), ("sample", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--vllm", metavar="PYTHON")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    return generate(asked) if asked.read_out == "generate" else attention(asked)


def generate(asked) -> int:
    """The `generate` read-out; see the head of this file."""
    import generate_ways as ways

    from geobench import catalog, paths
    from geobench.models import open_model

    datasets = ["ragroll"] if paths.mirror() else ["kitchen", "outdoor", "services"]
    chosen = catalog.select(datasets, asked.lists, asked.targets, 0)[: asked.lists]
    work = [job for selected in chosen for job in jobs(selected, asked.orders, asked.variants)]
    if asked.worker:
        return ways.worker(work, asked.tokens, asked.batch) or 0
    engine = open_model("smollm2-135m", batch_size=asked.batch)
    edited = [n for n, job in enumerate(work) if job.target]
    sample = [edited[round(i * (len(edited) - 1) / max(1, asked.sample - 1))] for i in range(min(asked.sample, len(edited)))]
    ways.library(engine, work[:1], 2)  # warm up
    found = {"library": ways.library(engine, work, asked.tokens)}
    print(found["library"].per_ranking(), file=sys.stderr, flush=True)
    found["lone"] = ways.transformers(engine, work, asked.tokens, 1, sample)
    print(found["lone"].per_ranking(), file=sys.stderr, flush=True)
    found["padded"] = ways.transformers(engine, work, asked.tokens, asked.batch, sample)
    print(found["padded"].per_ranking(), file=sys.stderr, flush=True)
    if asked.vllm:
        found["vllm"] = ways.under_vllm(asked.vllm, __file__, sys.argv[1:])
    rows = {way: measured.per_ranking() for way, measured in found.items()}
    differ = {way: sum(found["library"].ranks[key] != ranks for key, ranks in measured.ranks.items()) for way, measured in found.items()}
    naive = 2 * len(edited) * asked.orders * rows["lone"]["processor"]
    ratios = {way: rows[way]["processor"] / rows["library"]["processor"] for way in rows if way != "library"}
    ratios["naive whole run"] = naive / found["library"].processor
    places = [job.orders[0].index(job.target - 1) + 1 for job in work if job.target]
    row = {"datasets": datasets, "lists": len(chosen), "edited rankings": len(edited) * asked.orders, "places": places}
    row |= {"per ranking": rows, "ratios": {k: round(v, 2) for k, v in ratios.items()}, "ranks that differ": differ}
    print(json.dumps(row))
    return int(differ["lone"] + differ["padded"] > 0 or ratios["lone"] < 3 or ratios["padded"] < 2 or ratios["naive whole run"] < 6)


def attention(asked) -> int:
    """The `attention` read-out; see the head of this file."""
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
            worst = max(worst, *(float(np.abs(np.subtract(a, other)).max() / np.std(a)) for other in (b, c)))
    ratio = seconds["recomputed"] / seconds["shared"]
    row = {"rankings": rankings, "seconds": seconds, "ratio": ratio, "ratio_once": seconds["once"] / seconds["shared"]}
    print(json.dumps(row | {"max_difference": worst}))
    return int(worst > 1e-4 or ratio < 2)


if __name__ == "__main__":
    sys.exit(main())
