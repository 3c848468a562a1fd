import pytest

from geobench.search import gate, quality

ROWS = [
    {"name": "a", "condition": "ip", "similarity": 1, "length": 1, "perplexity": 1, "naturalness": 1, "quality": 1.0, "reason": ""},
    {
        "name": "a",
        "condition": "id",
        "similarity": 1,
        "length": 0.1,
        "perplexity": 1,
        "naturalness": 1,
        "quality": 0.56,
        "reason": "length 0.10: x",
    },
    {"name": "b", "condition": "ip", "similarity": 1, "length": 1, "perplexity": 1, "naturalness": 0.3, "quality": 0.74, "reason": ""},
    {"name": "b", "condition": "id", "similarity": 1, "length": 1, "perplexity": 1, "naturalness": 0.2, "quality": 0.67, "reason": ""},
]


def test_pass_and_sensitivity_tables():
    table = quality.pass_table(ROWS, 0.65).set_index("condition")
    assert table["passed"].to_dict() == {"ip": 1.0, "id": 0.5, "both": 0.5} and table.loc["id", "length"] == pytest.approx(0.55)
    curve = quality.sensitivity_table(ROWS, [0.5, 0.7]).set_index("threshold")
    assert curve.loc[0.5].tolist() == [1, 1, 1] and curve.loc[0.7].tolist() == [1, 0, 0]


def test_reasons():
    rows = quality.reason_table(ROWS).values.tolist()
    assert rows == [["id", "length", 1], ["id", "passed", 1], ["ip", "passed", 2]]


def test_measures_are_recorded_and_read_back(search):
    rows = quality.measure(search)
    assert len(rows) == 4 and all(r["quality"] == pytest.approx(gate.quality(r)) for r in rows)
    assert quality.measure(search) == rows


def test_a_tiny_model_cannot_rewrite_and_this_is_recorded(search):
    rows = quality.run_rewriting(search)
    assert [(r["step"], r["state"]) for r in rows] == [("metadata", "failed")]
    first, second = rows[0]["reasons"]  # the second prompt, with the reason, is too long for it
    assert "expected a JSON object" in first and "do not fit the 1024" in second and len(rows[0]["raw"]) == 1
    search.p = search.p.model_copy(update={"search_rewrite_queries": 0})
    assert quality.run_rewriting(search) == []
