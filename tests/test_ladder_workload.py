"""The ladder's rankings, counted one by one."""

from geobench import catalog
from geobench.ladder import PARTS
from geobench.ladder_workload import ladder
from geobench.params import load

WHOLE = {"ladder_targets": 1, "ladder_lists": None, "ladder_parts": [*PARTS], "ladder_rankers": None}


def test_rankings_are_scripts_times_orders_times_texts():
    params = load("smoke", {"datasets": ["kitchen"], "targets_per_list": 2, "ladder_variants": ["injection", "padding"], **WHOLE})
    chosen = catalog.select(["kitchen"], None, 2, 0)
    (work,) = ladder(params, chosen)
    # items, query and template have two settings each: eight scripts, one of them ranked by notebook 05
    # already; the orders are ranked once for both of theirs
    assert work.calls == 7 * params.orders * (len(chosen) + 2 * len(chosen)) and work.notebook == "09_evaluation_ladder"
    assert ladder(load("smoke", {"rankers": ["bm25"], "main_ranker": "bm25", "ladder_rankers": None}), chosen) == []


def test_scripts_have_shared_orders_and_edits_from_a_file_count():
    values = {"datasets": ["kitchen"], "targets_per_list": 2, "ladder_variants": None, **WHOLE}
    none = {"white_box": [], "black_box": [], "rewrites": [], "controls": [], "external_edits": ["mine.csv"]}
    chosen = catalog.select(["kitchen"], None, 2, 0)
    (work,) = ladder(load("smoke", values | none | {"orders_mode": "released"}), chosen)
    assert work.calls == 8 * load("smoke").orders * (len(chosen) + len(chosen))  # the clean list and one target's edit
    assert work.tokens_in > work.repeated > 0 and work.tokens_out == 0
    (generated,) = ladder(load("smoke", values | none | {"ladder_rankers": ["smollm2-135m:generate"]}), chosen)
    assert generated.calls == 10 * 2 * len(chosen) and generated.limit == generated.calls * load("smoke").rank_tokens


def test_smoke_ranks_the_path_of_one_list():
    params = load("smoke")
    attention, generate = ladder(params, catalog.select(params.datasets, None, 1, 0))
    assert attention.calls == (4 - 1) * params.orders * (1 + 2) and generate.calls == (5 - 1) * (1 + 1)
