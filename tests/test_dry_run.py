"""The dry run's counts against counting one by one."""

import itertools
from dataclasses import replace

import pytest

from geobench import dry_run, runner
from geobench.catalog import select
from geobench.models import ModelSpec, spec
from geobench.workload import Work


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
    plan = made(targets_per_list=2, tap_roots=3, tap_branching=2, tap_width=4, tap_depth=2)
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
    assert {"sts__vicuna-7b", "raf__vicuna-7b", "zero_shot__gpt-4o-mini", "tap__qwen2.5-14b", "fluency__gpt-4o-mini"} <= set(variants)
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
    calls = rankings + 11 * sum(len(s.targets) for s in chosen)  # and its zero-shot snippets and ten rewrites
    assert f"gpt-4o-mini: API, {calls:,} calls, about " in text and "search track: at most 1000 queries" in text
    assert "hours unknown" not in text and "on one device, and at most" in text  # every model of the profile has a throughput
    assert "llama-4-scout: 218.0 GB of weights, plan for 262; about " in text


def test_dollars_are_tokens_times_prices():
    """Repeated input is billed; a reply is at most as long as its limit."""
    work = Work("05_ranking", "gpt-4o-mini", "gpt-4o-mini:generate", 10, 2_000_000, 500_000, 700_000, 1_000_000)
    assert dry_run.dollars(spec("gpt-4o-mini"), [work]) == pytest.approx((0.6, 0.9))  # 2 M in at 0.15; 0.5 or 1 M out at 0.6
    assert dry_run.dollars(replace(spec("gpt-4o-mini"), api=None), [work]) == (None, None)


def test_hours_are_tokens_over_rates_without_what_is_repeated(monkeypatch):
    rates = {"input": 1000, "output": 10, "source": "given"}
    monkeypatch.setattr(dry_run, "spec", lambda name: ModelSpec(name, "path:/w", throughput=None if name == "other" else rates))
    work = Work("05_ranking", "mine", "mine:generate", 5, 4_600_000, 18_000, 1_000_000)
    assert dry_run.hours([work]) == (pytest.approx(1.0 + 0.5), [])  # 3.6 M tokens at 1,000 a second, 18,000 at 10
    left = [work, Work("06_detection", "other", "judge", 1, 1), Work("06_detection", "other", "perplexity", 1, 1)]
    assert dry_run.hours(left) == (pytest.approx(1.5), ["other"])
    lines = dry_run._models(left, 9)
    assert lines[0] == "mine: size unknown; about 1.5 h (given)"
    assert lines[-1] == "in all about 1.5 hours on one device, without other, and at most 0.00 dollars, if all notebooks run"
    (head, row) = dry_run._notebook("05_ranking", [work])
    assert head == "05_ranking: 5 calls, 4,600,000 tokens in, 18,000 out, about 1.50 h"
    assert row == "  mine:generate on mine: 5 calls, 4,600,000 in, 22% repeated, 18,000 out"


def test_a_notebook_takes_eight_seconds_beside_its_models():
    (head, _) = dry_run._notebook("06_detection", [Work("06_detection", "smollm2-135m", "judge", 1, 0, round(78 * 10.8))])
    assert head.endswith(", about 0.01 h")  # 10.8 and 8 seconds; 0.00 without them


def test_memory_is_parameters_times_bytes():
    lines = dry_run._models([Work("06_detection", name, "judge") for name in ("vicuna-7b", "smollm2-135m", "qwen2.5-14b")], 0)
    assert [line.split(";")[0] for line in lines[:3]] == [
        "vicuna-7b: 13.5 GB of weights, plan for 16", "smollm2-135m: 0.5 GB of weights, plan for 1",
        "qwen2.5-14b: 29.5 GB of weights, plan for 35",
    ]  # fmt: skip


def test_the_head_by_hand():
    """Two lists with two targets each: a clean list once, each of 18 variants per target, under three orders."""
    plan = runner.plan("smoke", {"datasets": ["kitchen"], "targets_per_list": 2, "tap_orders": 3}, only=["05"])
    head = dry_run.estimate(plan).splitlines()
    assert head[1] == "2 lists, 4 targets, 18 variants"
    assert head[2] == "  smollm2-135m:attention: 222 rankings (3 orders), 49% fewer than before and after apart"  # 3 * (2 + 4 * 18) of 432
    # a snippet and ten rewrites per target; TAP: two roots with a child each
    assert "  edits: 44 generations; TAP at most 16 generations and 48 search rankings" in head
    assert not [line for line in head if line.startswith("search track")]
    searched = dry_run.estimate(runner.plan("smoke", only=["12"])).splitlines()
    assert searched[1].startswith("search track: 24 queries with 5 sources under 3 conditions") and "lists" not in searched[2]


def test_api_models_take_money_and_no_hours():
    served = Work("05_ranking", "gpt-4o-mini", "gpt-4o-mini:generate", 10, 2_000_000, 500_000, 0, 1_000_000)
    assert dry_run.hours([served]) == (0.0, [])
    first, last = dry_run._models([served], 450)
    assert first == "gpt-4o-mini: API, 10 calls, about 0.60, at most 0.90 dollars"
    assert last.startswith("in all about 1.0 hours on one device, and at most 0.90 dollars")  # 450 notebooks of 8 seconds


def test_a_model_without_throughput_leaves_its_hours_open(monkeypatch):
    monkeypatch.setattr(dry_run, "spec", lambda name: replace(spec(name), throughput=None))
    assert "hours unknown: no `throughput` in models.yaml" in dry_run.estimate(made(rankers=["bm25"], main_ranker="bm25"))


def test_windows_take_more_prompts_and_save_as_many_rankings():
    windows = {"rankers": ["smollm2-135m:generate"], "main_ranker": "smollm2-135m:generate", "generate_window": 4, "generate_stride": 2}
    plain = dry_run.estimate(made(**{k: v for k, v in windows.items() if k[:8] != "generate"})).splitlines()
    lines = dry_run.estimate(made(**windows)).splitlines()
    (before,), (after,) = ([row for row in text if row.startswith("  smollm2-135m:generate: ")] for text in (plain, lines))
    head, prompts = after.split("; in windows, ")
    assert head == before and "-" not in head.split("%")[0].split(", ")[-1] and int(prompts.split()[0]) > int(head.split()[1])


def test_both_tracks_are_one_table_and_nothing_is_counted_twice():
    plan = runner.plan("smoke")
    _, found = dry_run.planned(plan)
    assert len({(w.notebook, w.model, w.what) for w in found}) == len(found)
    text, (spent, unknown) = dry_run.estimate(plan), dry_run.hours(found)
    assert f"in all about {spent + 15 * 8 / 3600:.1f} hours on one device" in text and unknown == []
    for w in found:
        assert text.count(f"  {w.what} on {w.model}: {w.calls:,} calls") == 1
    parts = [dry_run.hours([w for w in found if w.notebook == name])[0] for name in plan.chosen]
    assert sum(parts) == pytest.approx(spent)
    alone = dry_run.planned(runner.plan("smoke", only=["14"]))
    assert alone == ([], [w for w in found if w.notebook == "14_defences"])


def test_the_smoke_profile_s_hours_are_within_a_factor_of_two_of_the_readme_s_half_hour():
    import re

    said = re.search(r"in all about ([\d.]+) hours", dry_run.estimate(runner.plan("smoke")))
    assert 0.25 <= float(said[1]) <= 1.0


def test_the_search_track_alone_has_hours_too():
    text = dry_run.estimate(runner.plan("smoke", only=["11", "12"]))
    assert "smollm2-135m: 0.5 GB of weights, plan for 1; about 0." in text and "in all about 0." in text
