"""Kernels against the plain forward on a randomly initialised Llama-3.1-8B-shaped model: correctness in bf16, seconds per exact and
screened STS step against the plain scheme, peak memory, and tokens per second of the attention and generate read-outs' work.
Exits 1 when the losses differ from the plain forward's, relative to them, by more than TOLERANCE.

    benchmarks/gpu.sh [--candidates 512] [--layers 32] [--tiny]     (--tiny: a toy model in float32, to try the script without a GPU)
"""

import argparse
import json
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from white_box_search import screened_best

from geobench.kernels import candidates, decoder
from geobench.kernels.cache import Cache
from geobench.kernels.readout import read_out

SHAPE = {
    "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
    "rms_norm_eps": 1e-5, "max_position_embeddings": 8192, "tie_word_embeddings": False,
}  # fmt: skip
TINY = SHAPE | {"vocab_size": 600, "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 8, "num_key_value_heads": 2}
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 2e-2}  # of a loss, relative: bfloat16 keeps eight bits


def built(asked) -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(**(TINY if asked.tiny else SHAPE), num_hidden_layers=2 if asked.tiny else asked.layers)
    dtype = torch.float32 if asked.tiny else torch.bfloat16
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        torch.set_default_dtype(dtype)
        model = LlamaForCausalLM(config).eval().requires_grad_(False)
        torch.set_default_dtype(torch.float32)
    return model


def timed(work, repeat: int = 1):
    synchronise = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    work()
    synchronise()
    start = time.perf_counter()
    for _ in range(repeat):
        value = work()
    synchronise()
    return value, (time.perf_counter() - start) / repeat


def plain_losses(model, head, slots, tail, goal, batch: int) -> list[float]:
    """The published scheme: every candidate's whole prompt."""
    found = []
    with torch.no_grad():
        for at in range(0, len(slots), batch):
            rows = torch.tensor([[*head, *slot, *tail, *goal[:-1]] for slot in slots[at : at + batch]], device=model.device)
            hidden = model.model(rows, use_cache=False).last_hidden_state[:, -len(goal) :]
            logits = model.lm_head(hidden).float()
            wanted = torch.tensor(goal, device=model.device).expand(len(rows), -1)
            found += torch.nn.functional.cross_entropy(logits.transpose(1, 2), wanted, reduction="none").mean(1).tolist()
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--candidates", type=int, default=512)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--tiny", action="store_true")
    asked = parser.parse_args(argv)
    model, draw = built(asked), torch.Generator().manual_seed(1)
    ids = torch.randint(10, model.config.vocab_size, (700,), generator=draw).tolist()
    head, slot, tail, goal = ids[:351], ids[351:371], ids[371:666], ids[666:670]
    slots = [[*slot[: n % 20], ids[n], *slot[n % 20 + 1 :]] for n in range(asked.candidates)]
    past = candidates.prefix(model, head)
    base, gradient = timed(lambda: candidates.incumbent(model, past, slot, tail, goal))
    exact, exact_seconds = timed(lambda: candidates.candidate_losses(model, past, slots, tail, goal, base=base))
    (loss, best), screened_seconds = timed(lambda: screened_best(model, past, base, slots, tail, goal))
    few = slots[:64]
    plain, plain_seconds = timed(lambda: plain_losses(model, head, few, tail, goal, 16))
    worst = max(abs(a - b) for a, b in zip(exact, plain))
    apart = max(worst, abs(loss - exact[best])) / max(map(abs, plain))
    peak = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else None
    rest, heads = torch.tensor([[*slot, *tail]], device=model.device), decoder.all_heads(model)
    _, read_seconds = timed(lambda: read_out(model, past, rest, ids[:8], ids[8:16], heads), 5)
    cache = Cache(model, [head] * 16, 40)
    _, step_seconds = timed(lambda: cache.step([5] * 16), 16)
    print(json.dumps({
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu", "dtype": str(model.dtype), "candidates": len(slots),
        "gradient": gradient, "exact_step": gradient + exact_seconds, "screened_step": gradient + screened_seconds,
        "plain_step": gradient + plain_seconds * len(slots) / len(few), "plain_measured_on": len(few),
        "max_difference": worst, "relative_difference": apart,
        "screened_is_exact_best": best == exact.index(min(exact)), "peak_gib": peak,
        "read_out_tokens_per_second": (len(slot) + len(tail) + 16) / read_seconds, "decode_tokens_per_second": 16 / step_seconds,
    }, indent=1))  # fmt: skip
    return int(not apart <= TOLERANCE[model.dtype])  # nan too


if __name__ == "__main__":
    sys.exit(main())
