"""Ranks 40 units with an API model into a record file: python api_worker.py URL FOLDER."""

import sys
from pathlib import Path

from geobench.engines.budget import Budget
from geobench.engines.openai import OpenAIModel
from geobench.lists import Item, RankList
from geobench.models import ModelSpec
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker
from geobench.records import Records
from geobench.replies import ReplyStore

url, folder = sys.argv[1], Path(sys.argv[2])
api = {
    "base_url": url, "key_env": None, "prices": {"input": 1.0, "output": 10.0}, "timeout": 0.5, "pause": 0.0, "retries": 1, "attempts": 40,
    "concurrency": 4,
}
budget = Budget()
budget.begin("r", None)
engine = OpenAIModel(ModelSpec("mini", "openai:mini", engine="openai", api=api), ReplyStore(folder / "replies.sqlite"), budget)
engine.batch_size = 4
cameras = RankList("tests", "cameras", "camera", tuple(Item(name, f"About {name}.") for name in ("Alpha", "Beta", "Gamma")))
with Records(folder / "units.jsonl", {"kind": "units"}, ("unit",)) as records:
    todo = [n for n in range(40) if (n,) not in records.done]
    print("ready", flush=True)
    jobs = (Job(cameras, ((0, 1, 2), (2, 1, 0)), 1, f"text {n}", "v") for n in todo)
    for n, (_, ranking) in zip(todo, GenerateRanker("mini:generate", engine).rank(jobs)):
        records.append({"unit": n, "ranks": ranking.ranks, "status": ranking.status, "replies": ranking.replies})
print("done", flush=True)
