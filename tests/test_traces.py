"""Trace tables by hand on two targets."""

import math

from geobench.traces import compute_table, control_table, curve_table, failure_table, trace_table


def edit(target, losses, ranks, tokens=(10, 4)):
    trace = [{"step": n, "loss": loss, "suffix": f"s{n}"} for n, loss in enumerate(losses)]
    for n, rank in ranks.items():
        trace[n] |= {"ranks": [rank, rank], "mean_rank": float(rank), "objective": losses[n] + 1}
    head = {"variant": "sts__m", "dataset": "d", "list": "l", "target": target}
    return head | {"trace": trace, "tokens": {"forward": tokens[0], "backward": tokens[1]}}


EDITS = [edit(1, [2.0, 1.5, 1.0], {0: 4, 2: 2}), edit(2, [1.0, 1.0, 1.5], {0: 3, 2: 3}, (30, 6))]


def test_change_is_from_the_first_step():
    frame = trace_table(EDITS)
    assert frame["change"].fillna(9).tolist() == [0, 9, -1, 0, 9, 0.5] and math.isnan(frame["mean_rank"][1]) and frame["mean_rank"][2] == 2


def test_curves_average_targets():
    curve = curve_table(trace_table(EDITS), "loss")
    assert curve["mean"].tolist() == [1.5, 1.25, 1.25] and curve["targets"].tolist() == [2, 2, 2]
    ranks = curve_table(trace_table(EDITS), "mean_rank")
    assert ranks["step"].tolist() == [0, 2] and ranks["mean"].tolist() == [3.5, 2.5] and math.isclose(ranks["low"][1], 2.1)


def test_compute_is_per_target():
    (row,) = compute_table(EDITS).to_dict("records")
    assert row == {
        "variant": "sts__m", "targets": 2, "steps": 2, "forward_tokens": 20, "backward_tokens": 5, "loss_change": -0.25,
        "share_lowered": 0.5,
    }  # fmt: skip


def test_failures_are_those_no_better_than_their_start():
    (row,) = failure_table(EDITS).to_dict("records")
    assert (row["target"], row["start_rank"], row["best_rank"]) == (2, 3.0, 3.0)


def test_edits_without_a_trace_give_empty_tables():
    plain = [{"variant": "padding", "dataset": "d", "list": "l", "target": 1}]
    for table in (trace_table(plain), compute_table(plain), failure_table(plain), curve_table(trace_table(plain), "loss")):
        assert len(table) == 0


def test_an_attack_is_paired_with_the_random_search_of_its_model_by_the_suffixes_that_were_chosen():
    """Chosen by held-out ranks, whatever the step and the start: objectives 2 against 4 and 3, ranks 2 against 3."""
    mine = [edit(n, [2.0, 1.0], {0: 4, 1: 2}) | {"suffix": "s1"} for n in (1, 2)]
    other = [edit(n, [9.0, 4.0 - n], {0: 4, 1: 3}, (5, 0)) | {"suffix": "s1", "variant": "random_search__m"} for n in (1, 2, 3)]
    stranger = [e | {"variant": "random_search__x"} for e in other]
    (row,) = control_table([*mine, *other, *stranger], 100).to_dict("records")
    assert (row["variant"], row["targets"], row["difference"], row["share_better"]) == ("sts__m", 2, -1.5, 1.0)
    assert row["rank_difference"] == -1.0 and row["forward_ratio"] == 2.0
    assert len(control_table(mine)) == 0


def test_a_method_of_many_rows_is_not_helped_by_the_best_objective_among_them():
    """The row that became the edit counts: objective 5 against 3, though another row reached 1."""

    def rows(objectives, ranks, suffixes):
        return [{"step": 1, "row": n, "loss": 1.0, "objective": o, "suffix": s, "mean_rank": float(r)}
                for n, (o, r, s) in enumerate(zip(objectives, ranks, suffixes))]  # fmt: skip

    head = {"dataset": "d", "list": "l", "target": 1, "suffix": "a", "tokens": {"forward": 1, "backward": 0}}
    mine = head | {"variant": "stealthrank__m", "trace": rows((5.0, 1.0), (2, 4), "ab")}
    other = head | {"variant": "random_search__m", "trace": rows((3.0,), (3,), "a")}
    (row,) = control_table([mine, other], 100).to_dict("records")
    assert (row["difference"], row["rank_difference"], row["share_better"]) == (2.0, -1.0, 0.0)
