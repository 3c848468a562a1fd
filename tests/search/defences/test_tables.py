from types import SimpleNamespace

import pandas as pd
import pytest
from scipy import stats

from geobench.search.corpus import load_instances
from geobench.search.defences import tables
from geobench.search.defences.base import Decision, by_score

INSTANCES = load_instances()[:3]
ASR = {"true": 0.0, "hedged": 0.5, "false": 1.0, "refused": 0.0}
ACCURACY = {"true": 1.0, "hedged": 0.5, "false": 0.0, "refused": 0.0}


def answers(stances: dict[str, list[str]], **facts) -> list[dict]:
    return [
        {"name": i.name, "condition": c, "victim": "v", "stance": s, "asr": ASR[s], "accuracy": ACCURACY[s], **facts}
        for c, row in stances.items() for i, s in zip(INSTANCES, row)
    ]  # fmt: skip


@pytest.fixture
def frame():
    plain = answers({"clean": ["true"] * 3, "ip": ["true"] * 3, "id": ["false", "false", "hedged"]})
    made = answers(
        {"clean": ["true", "refused", "true"], "ip": ["true"] * 3, "id": ["false", "refused", "false"]},
        defence="guard:drop", changed=True, empty=False,
    )  # fmt: skip
    return tables.defence_frame(plain, made, INSTANCES)


def test_effect_and_cost_by_hand(frame):
    (row,) = tables.effect_table(frame, 200).to_dict("records")
    assert row["without"] == pytest.approx(2.5 / 3) and row["with"] == pytest.approx(2 / 3)
    assert row["change"] == pytest.approx(-0.5 / 3) and row["relative"] == pytest.approx(-0.2) and row["lo"] <= row["change"] <= row["hi"]
    cost = tables.accuracy_table(frame, 200).set_index("condition")["change"]
    assert cost["clean"] == pytest.approx(-1 / 3) and cost["ip"] == 0


def two_victims(frame):
    """The same answers and a second victim, which no attack moves and no defence changes."""
    other = frame.assign(victim="w", asr=0.0, accuracy=1.0)
    return pd.concat([frame, other], ignore_index=True)


def test_means_of_victims_are_paired_over_queries(frame):
    rows = tables.effect_table(two_victims(frame), 200).set_index("victim")
    mean = rows.loc[tables.MEAN]
    assert mean["without"] == pytest.approx(2.5 / 6) and mean["change"] == pytest.approx(-0.5 / 6)
    each = pd.Series([0, -0.5, 0.25])  # half of v's change per query
    known = stats.ttest_1samp(each, 0)
    assert mean["p"] == pytest.approx(known.pvalue) and (mean["lo"], mean["hi"]) == pytest.approx(known.confidence_interval())
    cost = tables.accuracy_table(two_victims(frame), 200).set_index(["victim", "condition"])["change"]
    assert cost[tables.MEAN, "clean"] == pytest.approx(-1 / 6)


def test_residual_attacks_succeed_for_all_victims_under_all_defences_but_the_guard(frame):
    more = frame[frame.defence == "guard:drop"].assign(defence="granite:drop")
    more["asr"] = more["asr"].where(more["name"] != INSTANCES[1].name, 1.0)
    table = tables.residual_table(pd.concat([frame, more]), INSTANCES)
    assert dict(zip(table["name"], table["caught"])) == {INSTANCES[0].name: False, INSTANCES[1].name: True}  # the third was hedged before
    assert tables.residual_table(two_victims(frame), INSTANCES).empty


def test_a_query_counts_for_each_of_its_categories(frame):
    table = tables.category_table(frame).set_index("category")
    assert table["queries"].sum() == sum(len(i.categories) for i in INSTANCES)
    assert set(table.columns) == {"none", "guard:drop", "queries"}


def test_blocked_shares_of_all_and_of_target_chunks():
    hits = [SimpleNamespace(chunk=SimpleNamespace(document=d)) for d in (2, 1, 2, 3)]
    made = {("q", "id"): [Decision(r, "yes_is_risk") for r in (True, None, False, True)]}
    table = tables.chunk_block_table([{"name": "q", "condition": "id", "hits": hits, "target": 2}], {"granite": made}, 3)
    row = table.set_index("condition").loc["id"]
    assert row["all"] == pytest.approx(1 / 3) and row["target"] == 0.5 and row["unparsed"] == pytest.approx(1 / 3) and row["chunks"] == 3
    assert pd.isna(table.set_index("condition").loc["clean", "all"])
    assert tables.chunk_block_table([], {}, 3)["defence"].tolist() == []
    strict = tables.chunk_block_table([{"name": "q", "condition": "id", "hits": hits, "target": 2}], {"granite": made}, 3, "block")
    assert strict.set_index("condition").loc["id", "all"] == pytest.approx(2 / 3)


def test_a_context_s_score_is_the_target_s_highest_chunk():
    hits = [SimpleNamespace(chunk=SimpleNamespace(document=d)) for d in (2, 1, 2)]
    row = {"name": "q", "condition": "id", "hits": hits, "target": 2}
    made = {("q", "id"): [by_score(s, 0.5) for s in (0.2, 0.9, 0.4)]}
    assert tables.context_scores([row], made, "disagreement")["score"].tolist() == [0.4]
    assert tables.context_scores([row | {"target": 5}], made, "disagreement")["score"].tolist() == [0.0]


def test_gate_levels_keep_only_queries_whose_both_texts_pass(frame):
    quality = [{"name": i.name, "condition": c, "quality": q} for i, q in zip(INSTANCES, (0.9, 0.7, 0.5)) for c in ("ip", "id")]
    table = tables.gate_table(frame, quality, [0.6, 0.8, 0.95]).set_index("threshold")
    assert table.loc[0.6, "queries"] == 2 and table.loc[0.6, "relative"] == pytest.approx(-0.5) and table.loc[0.8, "relative"] == 0
    assert 0.95 not in table.index


def test_quality_by_verdict_leaves_unparsed_grades_out():
    grades = [
        {"victim": "v", "name": n, "condition": "id", "relevance": r, "completeness": r, "clarity": r} for n, r in (("a", 5), ("b", None))
    ]
    given = [{"victim": "v", "name": n, "condition": "id", "stance": "false"} for n in "ab"]
    (row,) = tables.quality_verdict_table(grades, given).to_dict("records")
    assert row["answers"] == 2 and row["graded"] == 1 and row["quality"] == 5
    assert tables.quality_verdict_table([], []).empty


def test_victims_agreement_needs_two_victims(frame):
    assert tables.agreement_by_defence(frame).empty
    both = pd.concat([frame, frame.assign(victim="w")])
    assert (tables.agreement_by_defence(both)["disagree"] == 0).all()
