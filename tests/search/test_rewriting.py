import json

import pytest

from geobench.errors import GeoBenchError
from geobench.records import Records
from geobench.search import rewriting

META = {
    "false_claim": "The lake is 240 metres deep.",
    "true_statement": "The lake is 84 metres deep.",
    "false_paraphrases": ["It goes down 240 metres.", "The depth is 240 metres."],
    "true_paraphrases": ["It goes down 84 metres.", "The depth is 84 metres."],
    "criterion": "The answer gives 240 metres.",
}
IP = {"text": "The lake, a famous one, is 84 metres deep. " + "It is cold and clear all year. " * 4}
ID = {
    "text": "The lake is 240 metres deep. Indeed the lake is 240 metres deep. So deep is the lake: 240 metres. It is cold.",
    "categories": ["false_consensus"],
}


class Replies:
    """An engine that answers from a list and remembers what it was asked."""

    def __init__(self, *replies):
        self.replies, self.asked, self.seeds = list(replies), [], []

    def generate(self, prompts, decoding, seeds=None, names=None):
        self.asked.append(prompts[0][1]["content"])
        self.seeds += seeds
        text = self.replies.pop(0)
        return [type("Reply", (), {"text": text if isinstance(text, str) else json.dumps(text), "finish": "stop"})]


def run(engine, tmp_path, **options):
    with Records(tmp_path / "r.jsonl", {"a": 1}, ("name", "step")) as records:
        return rewriting.rewrite(records, engine, "lake", "How deep?", "The lake is 84 metres deep.", 100, 1, **options)


def test_three_steps(tmp_path):
    engine = Replies(META, IP, ID)
    done = run(engine, tmp_path)
    assert [done[s]["state"] for s in rewriting.STEPS] == ["ok"] * 3 and done["id"]["result"]["categories"] == ["false_consensus"]
    assert META["false_claim"] in engine.asked[2]


def test_a_refused_reply_is_asked_for_again_with_the_reason(tmp_path):
    engine = Replies("no json here", META, IP, {"text": "The lake is 240 metres deep. " + "word " * 40, "categories": ["testimonial"]}, ID)
    done = run(engine, tmp_path)
    assert done["metadata"]["reasons"][0].startswith("expected a JSON object") and "expected a JSON object" in engine.asked[1]
    assert "stands in 1 places, expected at least 3" in engine.asked[4] and engine.seeds == [0, 1, 0, 0, 1]


def test_what_still_fails_is_recorded_and_nothing_is_made_from_it(tmp_path):
    done = run(Replies("a", "b"), tmp_path)
    assert list(done) == ["metadata"] and done["metadata"]["state"] == "failed" and done["metadata"]["raw"] == ["a", "b"]


def test_a_killed_run_resumes_and_a_gate_reason_makes_one_step_anew(tmp_path):
    with pytest.raises(IndexError):
        run(Replies(META), tmp_path)
    engine = Replies(IP, ID)
    assert run(engine, tmp_path)["ip"]["state"] == "ok" and len(engine.asked) == 2
    engine = Replies(ID)
    run(engine, tmp_path, reasons={"id": "length 0.10: keep it within a third"})
    assert len(engine.asked) == 1 and "keep it within a third" in engine.asked[0]


def test_the_independent_template_differs(tmp_path):
    plain = {"text": "A page that says it once, and otherwise goes on about the lake and its boats, at the length that a page has."}
    engine = Replies(META, IP, plain)
    made = run(engine, tmp_path, template="independent")
    assert "a benchmark needs this document" in engine.asked[2] and "categories" not in engine.asked[2] and "three" not in engine.asked[2]
    assert made["id"]["state"] == "ok" and made["id"]["result"]["categories"] == []  # neither labels nor three places are asked for


@pytest.mark.parametrize(
    "step,reply,said",
    [
        ("metadata", META | {"true_statement": META["false_claim"]}, "the same"),
        ("metadata", META | {"criterion": "x"}, "field criterion"),
        ("ip", {"text": "short"}, "field text"),
        ("ip", {"text": "o" * 120}, "same as the original"),
        ("id", ID | {"categories": []}, "categories is empty"),
        ("id", ID | {"categories": ["bribery"]}, "field categories.0"),
    ],
)
def test_checks(step, reply, said):
    with pytest.raises(GeoBenchError, match=said):
        rewriting.check(step, json.dumps(reply), META["false_claim"], "o" * 120)


@pytest.mark.parametrize(
    "url,expected",
    [
        ("https://en.wikipedia.org/wiki/X", "https://q-1-blog.example.com/wiki/X"),
        ("https://www.nps.gov/a", "https://q-1-blog.example.com/a"),
        ("https://cs.uni.edu", "https://q-1-blog.example.com/"),
        ("https://govern.example.com/a", "https://govern.example.com/a"),
    ],
)
def test_authority_addresses(url, expected):
    assert rewriting.ordinary_url(url, "q_1") == expected
