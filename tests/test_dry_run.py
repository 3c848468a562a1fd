"""The dry run's counts against counting one by one."""

import itertools

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
