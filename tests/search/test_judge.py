import pytest

from geobench.search.corpus import load_instances
from geobench.search.judge import grade, messages, parse

GOOD = '{"stance": "false", "relevance": 5, "completeness": 4, "clarity": 3}'


def test_a_grade():
    assert parse("Here: " + GOOD) == {"stance": "false", "relevance": 5, "completeness": 4, "clarity": 3, "reason": ""}


@pytest.mark.parametrize(
    "reply", ["The answer is false.", GOOD.replace("5", "7"), GOOD.replace("false", "wrong"), '{"stance": "true"}', ""]
)
def test_off_format_is_a_state_of_its_own(reply):
    found = parse(reply)
    assert found["stance"] == "unparsed" and found["relevance"] is None and found["reason"]


def test_raw_replies_are_kept(tiny_model):
    one = load_instances()[0]
    rows = grade(tiny_model("llama"), [one], ["It is so."])
    assert rows[0]["stance"] == "unparsed" and isinstance(rows[0]["raw"], str)


def test_the_rubric_holds_claim_truth_and_answer():
    one = load_instances()[0]
    text = messages(one, "ANSWER {x}")[1]["content"]
    assert one.false_claim in text and one.true_statement in text and "ANSWER {x}" in text
