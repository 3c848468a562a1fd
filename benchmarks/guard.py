"""Guard scoring as notebook 14 needs it, against the same encoder called one chunk at a time.

    PYTHONPATH=lib python benchmarks/guard.py [--instances 24] [--repeat 3] [--model minilm]

Workload: the chunks of the embedded queries' sources under clean, IP and ID, each asked for once per condition. The guard embeds a text
once (four of five sources are the same under all conditions) and in batches of like length. Prints one JSON line that tells the two apart;
exits with 1 if the whole is less than four times as fast or any score differs by more than 1e-5. All ways run alternately; medians of
`repeat` rounds. On a CPU the encoder is bound by arithmetic, so that batches gain little there: `share_in_products` is the profiler's share
of one-at-a-time time inside matrix products.
"""

import argparse
import json
import sys
import time

import numpy as np
import torch

from geobench.models import open_model
from geobench.search.chunking import chunk
from geobench.search.corpus import CONDITIONS, load_instances, load_triples
from geobench.search.defences import guard, pool

LEAST, TOLERANCE = 4.0, 1e-5


def workload(tokenizer, count: int) -> list[str]:
    """Chunks (96 tokens, overlap 24) of the five sources under three conditions."""
    texts = [s.text for one in load_instances()[:count] for c in CONDITIONS for s in one.documents(c)]
    return [c.text for text in texts for c in chunk(text, tokenizer, 96, 24)]


def timed(score) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    values = score()
    return time.perf_counter() - start, np.asarray(values)


def products(score) -> float:
    """Share of CPU time inside matrix products, by torch's profiler."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as seen:
        score()
    times = {e.key: e.self_cpu_time_total for e in seen.key_averages()}
    return sum(t for k, t in times.items() if k in ("aten::addmm", "aten::mm", "aten::bmm")) / sum(times.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--instances", type=int, default=24)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    model = open_model(args.model).model
    rows = pool.parts(load_triples()[:12], model.tokenizer, 96, 24, ("id",))
    prototypes = guard.fit(model, rows, set())
    texts = workload(model.tokenizer, args.instances)
    unique = list(dict.fromkeys(texts))
    matrix = np.stack(list(prototypes.values())).T

    def alone(chunks):
        return [float((model.encode([t], normalize_embeddings=True, show_progress_bar=False) @ matrix).max()) for t in chunks]

    alone(texts[:8])
    seconds = {"alone": [], "batched": [], "unique": []}
    ways = {
        "alone": lambda: alone(texts),
        "batched": lambda: guard.Guard(model, prototypes, 0.5).scores(texts)[0],
        "unique": lambda: alone(unique),
    }
    values = {}
    for _ in range(args.repeat):
        for name, way in ways.items():
            spent, values[name] = timed(way)
            seconds[name].append(spent)
    took = {name: float(np.median(s)) for name, s in seconds.items()}
    difference = float(np.abs(values["alone"] - values["batched"]).max())
    row = {
        "benchmark": "guard_scoring", "model": args.model, "chunks": len(texts), "different_chunks": len(unique),
        "chunks_per_second": round(len(texts) / took["batched"], 1), "one_at_a_time_per_second": round(len(texts) / took["alone"], 1),
        "speedup": round(took["alone"] / took["batched"], 2), "from_embedding_once": round(took["alone"] / took["unique"], 2),
        "from_batches": round(took["unique"] / took["batched"], 2), "largest_difference": difference,
        "share_in_products": round(products(lambda: alone(unique[:40])), 2), "threads": torch.get_num_threads(),
    }  # fmt: skip
    print(json.dumps(row))
    return int(row["speedup"] < LEAST or difference > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
