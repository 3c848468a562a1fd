"""The dry run's counts against counting one by one."""

import itertools

import pytest

from geobench import dry_run, runner
from geobench.catalog import select


def made(**values):
    return runner.plan("smoke", {"datasets": ["kitchen"], "lists_per_dataset": None, **values})


def test_rankings_are_counted_one_by_one():
    few = {"generate_variants": ["padding"], "generate_orders": 2}
    plan = made(orders=4, **few, rankers=["smollm2-135m:attention", "smollm2-135m:generate", "bm25"])
    p = plan.params
    chosen = select(p.datasets, None, p.targets_per_list, p.seed)
    variants = [*p.white_box, *p.black_box, *p.rewrites, *p.controls]
    units = [(s.list.key, None) for s in chosen]
    units += [(s.list.key, (v, t)) for s, v in itertools.product(chosen, variants) for t in s.targets]
    few = [u for u in units if u[1] is None or u[1][0] == "padding"]
    text = dry_run.estimate(plan)
    assert f"smollm2-135m:attention: {4 * len(units)} rankings (4 orders)" in text
    assert f"smollm2-135m:generate: {2 * len(few)} rankings (2 orders)" in text
    assert f"bm25: {len(units)} rankings (1 orders)" in text


def test_tap_nodes_are_counted_level_by_level():
    plan = made(targets_per_list=2, tap_roots=3, tap_branching=2, tap_width=4, tap_depth=3)
    level, nodes = 3, 3
    for _ in range(2):
        level = min(4, level) * 2
        nodes += level
    targets = sum(len(s.targets) for s in select(["kitchen"], None, 2, 0))
    assert nodes == 17 and f"TAP at most {nodes * targets} generations" in dry_run.estimate(plan)


def test_the_paper_profile_has_24_variants_of_five_data_sets_and_five_rankers():
    from geobench.attacks import entries, named
    from geobench.params import load

    p = load("paper")
    variants = [named(p, entry)[0] for entry in entries(p)]
    assert len(set(variants)) == len(variants) == 24 and len(p.datasets) == len(p.rankers) == 5
    assert {"sts__vicuna-7b", "raf__vicuna-7b", "zero_shot__gpt-4o-mini", "tap__qwen2.5-14b", "fluency__llama-3.1-8b"} <= set(variants)
    assert (p.sts_tokens, p.sts_top_k, p.sts_candidates, p.sts_steps) == (30, 256, 512, 500)
    assert (p.raf_tokens, p.raf_steps, p.raf_top) == (10, 300, 512)
    assert (p.stealthrank_tokens, p.stealthrank_rows, p.stealthrank_steps) == (30, 5, 2000)
    assert (p.judge, p.reference_model, p.orders, p.rank_tokens) == ("qwen2.5-14b", "vicuna-7b", 10, 512)


def test_the_paper_profile_is_priced_without_a_model_or_a_key(monkeypatch):
    """On embedded lists: the public ones need the mirror."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    plan = runner.plan("paper", {"datasets": ["kitchen"]})
    text = dry_run.estimate(plan)
    chosen = select(["kitchen"], None, None, 0)
    rankings = 10 * (len(chosen) + 24 * sum(len(s.targets) for s in chosen))
    assert f"gpt-4o-mini:generate: {rankings} rankings (10 orders), " in text
    assert "llama-3.1-8b: 16.1 GB of weights, plan for 19; about" in text and "assumed, one 80 GB GPU" in text
    calls = rankings + sum(len(s.targets) for s in chosen)  # and its zero-shot snippets
    assert f"gpt-4o-mini: API, {calls:,} calls, about " in text and "search track: at most 1000 queries" in text


def test_dollars_are_tokens_times_prices():
    from geobench.models import spec
    from geobench.workload import Work

    work = Work("05_ranking", "gpt-4o-mini", "gpt-4o-mini:generate", 10, 2_000_000, 500_000, 0, 1_000_000)
    assert dry_run._dollars(spec("gpt-4o-mini"), [work]) == pytest.approx((0.6, 0.9))  # 2 M in at 0.15; 0.5 or 1 M out at 0.6


def test_a_model_without_throughput_leaves_its_hours_open(monkeypatch):
    from dataclasses import replace

    from geobench.models import spec

    monkeypatch.setattr(dry_run, "spec", lambda name: replace(spec(name), throughput=None))
    assert "hours unknown: no `throughput` in models.yaml" in dry_run.estimate(made(rankers=["bm25"], main_ranker="bm25"))


def test_the_smoke_profile_s_hours_are_within_a_factor_of_two_of_the_readme_s_half_hour():
    import re

    said = re.search(r"in all about ([\d.]+) hours", dry_run.estimate(runner.plan("smoke")))
    assert 0.25 <= float(said[1]) <= 1.0


def test_the_search_track_alone_has_hours_too():
    text = dry_run.estimate(runner.plan("smoke", only=["11", "12"]))
    assert "smollm2-135m: 0.5 GB of weights, plan for 1; about 0." in text and "in all about 0." in text
