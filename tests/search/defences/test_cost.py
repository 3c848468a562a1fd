import math

import pytest

from geobench.params import load
from geobench.search.defences import cost


def test_the_paper_profile_holds_the_paper_s_settings():
    p = load("paper")
    assert (p.search_chunk_tokens, p.search_chunk_overlap, p.search_top, p.search_candidates) == (512, 128, 12, 50)
    assert p.search_guard_tau == 0.9 and p.search_guard_holdout == 0.1 and len(p.search_victims) == 3


def test_calls_and_tokens_by_hand():
    p = load("paper", {"search_rewrite_queries": 0})
    rows = {r["work"]: r for r in cost.calls(p, 10)}
    assert rows["answers of gemma-4-31b:generate"] | {"work": ""} == {
        "work": "", "model": "gemma-4-31b", "calls": 30, "in": 30 * (12 * 512 + 60), "out": 30 * 1024,
    }  # fmt: skip
    assert rows["answers of gemma-4-31b:generate under defences"]["calls"] == 30 * 8
    assert rows["guard granite"]["calls"] == 30 * 12 and rows["guard nemo"]["calls"] == 30


def test_memory_comes_from_the_registry():
    assert cost.memory("gemma-4-31b") == pytest.approx(31e9 * 2 / 2**30) and math.isnan(cost.memory("smollm2-135m"))
    lines = "\n".join(cost.estimate(load("paper"), 247))
    assert "58 GiB" in lines and "GPU hours" in lines and "dollars" in lines
    assert "GPU" not in "\n".join(cost.estimate(load("smoke"), 24))


def test_public_queries_are_counted_before_the_gate_has_spoken():
    p = load("paper")
    assert cost.count(p) == 1000 and cost.count(load("smoke")) == 24 and cost.count(load("smoke", {"search_instances": 3})) == 3
    rows = {r["work"]: r["calls"] for r in cost.calls(p, 10)}
    assert rows["rewrites"] == 4 * 1000 and rows["judge"] == 30 * (3 + 8 * 3)  # no keys: every written answer is graded
    assert "at most 1000 queries" in cost.estimate(p, 1000)[0]
    api = load("smoke", {"search_judge": "gpt-4o-mini", "search_judge_answers": 100})
    assert "gpt-4o-mini: at most 0.01 dollars" in "\n".join(cost.estimate(api, 24))
