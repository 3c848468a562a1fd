"""One nanoGCG step on fixed candidates, run by benchmarks/white_box.py in nanoGCG's own environment (nanogcg 0.3.0, transformers <= 4.47).

Reads a JSON problem (weights, head, slot, tail, goal, candidates, batch, threads) on stdin; prints seconds and losses as JSON.
Only the prompt is set by hand, because nanoGCG strips every BOS from a chat template; gradient and candidate losses are its own.
"""

import json
import sys
import time

import torch
from nanogcg.gcg import GCG, GCGConfig
from nanogcg.utils import find_executable_batch_size
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast


def main() -> None:
    asked = json.load(sys.stdin)
    torch.set_num_threads(asked["threads"])
    plain = json.load(open(f"{asked['weights']}/config.json"))
    plain["rope_theta"] = plain.pop("rope_parameters", {}).get("rope_theta", plain.get("rope_theta", 10000.0))
    known = (
        "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "rms_norm_eps",
        "max_position_embeddings", "rope_theta", "tie_word_embeddings", "bos_token_id", "eos_token_id", "pad_token_id",
    )  # fmt: skip
    config = LlamaConfig(**{name: plain[name] for name in known if name in plain})
    model = LlamaForCausalLM.from_pretrained(asked["weights"], config=config, torch_dtype=torch.float32).eval()
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=asked["weights"] + "/tokenizer.json")
    gcg = GCG(model, tokenizer, GCGConfig(batch_size=asked["batch"]))
    before, after, target = (torch.tensor([asked[name]]) for name in ("head", "tail", "goal"))
    embed = model.get_input_embeddings()
    gcg.target_ids = target
    gcg.before_embeds, gcg.after_embeds, gcg.target_embeds = embed(before), embed(after), embed(target)
    with torch.no_grad():
        gcg.prefix_cache = model(inputs_embeds=gcg.before_embeds, use_cache=True).past_key_values
    start = time.process_time()
    gcg.compute_token_gradient(torch.tensor([asked["slot"]]))
    gradient = time.process_time()
    ids = torch.tensor(asked["candidates"])
    with torch.no_grad():
        rows = torch.cat([embed(ids), gcg.after_embeds.repeat(len(ids), 1, 1), gcg.target_embeds.repeat(len(ids), 1, 1)], dim=1)
        losses = find_executable_batch_size(gcg._compute_candidates_loss_original, asked["batch"] or len(ids))(rows)
    end = time.process_time()
    print(json.dumps({"gradient": gradient - start, "losses_seconds": end - gradient, "losses": losses.tolist()}))


if __name__ == "__main__":
    main()
