"""Ways to rank by the `generate` read-out that benchmarks/ranking.py compares; each takes jobs and gives a Measured."""

import json
import subprocess
import time
from dataclasses import dataclass, field


@dataclass
class Measured:
    """Per (job number, order number): ranks. seconds on the clock, and of the processor (which other load does not change much)."""

    ranks: dict = field(default_factory=dict)
    seconds: float = 0.0
    processor: float = 0.0

    def per_ranking(self) -> dict:
        count = max(1, len(self.ranks))
        return {"rankings": len(self.ranks), "seconds": round(self.seconds / count, 3), "processor": round(self.processor / count, 3)}


class Clock:
    def __enter__(self):
        self._start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.seconds, self.processor = time.perf_counter() - self._start[0], time.process_time() - self._start[1]


def library(engine, jobs, tokens: int) -> Measured:
    """What a run does: GenerateRanker with shared beginnings and batches."""
    from geobench.engines.beginnings import Beginnings
    from geobench.rankers.generate import GenerateRanker

    engine.beginnings, found = Beginnings(), Measured()
    with Clock() as clock:
        for n, (_, ranking) in enumerate(GenerateRanker("generate", engine, tokens).rank(jobs)):
            found.ranks |= {(n, k): ranks for k, ranks in enumerate(ranking.ranks)}
    found.seconds, found.processor = clock.seconds, clock.processor
    return found


def transformers(engine, jobs, tokens: int, batch: int, chosen: list[int]) -> Measured:
    """The model's own `generate` on the chosen jobs, alone (batch 1) or left-padded in groups of like length."""
    import torch

    from geobench.rankers.generate import GenerateRanker

    ranker, model, pad = GenerateRanker("generate", engine, tokens), engine.model, engine.tokenizer.pad_token_id
    asks = [(n, k, engine.encode_chat(ranker.messages(jobs[n], order))) for n in chosen for k, order in enumerate(jobs[n].orders)]
    asks.sort(key=lambda ask: len(ask[2]))
    found = Measured()
    for start in range(0, len(asks), batch):
        group = asks[start : start + batch]
        width = max(len(ids) for *_, ids in group)
        ids = torch.tensor([[pad] * (width - len(row)) + row for *_, row in group])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for *_, row in group])
        with Clock() as clock, torch.inference_mode():
            out = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=tokens, do_sample=False, pad_token_id=pad)
        found.seconds, found.processor = found.seconds + clock.seconds, found.processor + clock.processor
        for (n, k, _), row in zip(group, out[:, width:].tolist()):
            found.ranks[n, k] = _ranks(ranker, jobs[n], k, row)
    return found


def _ranks(ranker, job, k: int, tokens: list[int]) -> list[int]:
    from dataclasses import replace

    from geobench.engines.reply import Reply

    end = ranker.engine.tokenizer.eos_token_id
    written = tokens[: tokens.index(end)] if end in tokens else tokens
    finish = "stop" if end in tokens else "length"
    text = ranker.engine.tokenizer.decode(written, skip_special_tokens=True, clean_up_tokenization_spaces=False).strip()
    return ranker._ranking(replace(job, orders=(job.orders[k],)), [Reply(text, finish, 0, 0)]).ranks[0]


def under_vllm(python: str, script: str, arguments: list[str]) -> Measured:
    """The library's ranker on the vLLM engine, in that Python's environment."""
    done = subprocess.run([python, script, *arguments, "--worker"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"vLLM: {done.stderr[-2000:]}")
    row = json.loads(done.stdout.splitlines()[-1])
    return Measured({tuple(key): ranks for key, ranks in row["ranks"]}, row["seconds"], row["processor"])


def worker(jobs, tokens: int, batch: int) -> None:
    """Print what `under_vllm` reads: the processor's seconds are those of this process and of vLLM's own."""
    from dataclasses import replace

    import psutil

    from geobench.engines.decoding import Decoding
    from geobench.engines.vllm import VllmModel
    from geobench.models import spec

    engine = VllmModel(replace(spec("smollm2-135m"), engine="vllm", vllm={"eager": True, "context": 4096}))
    engine.batch_size = batch

    def theirs() -> float:
        return sum(sum(p.cpu_times()[:2]) for p in psutil.Process().children(recursive=True))

    engine.generate(["warm up"], Decoding(2))
    before = theirs()
    found = library(engine, jobs, tokens)
    processor = found.processor + theirs() - before
    engine.close()
    print(json.dumps({"ranks": list(found.ranks.items()), "seconds": found.seconds, "processor": processor}))
