"""Structured rankings: the form, the prompt that asks for it, and the ranks read from the shown order's numbers."""

import json
import re

import pytest

from geobench.engines.reply import Reply
from geobench.errors import GeoBenchError
from geobench.params import load
from geobench.rankers import structure
from geobench.rankers import structure as structure_module
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker


class Formed:
    """An engine with structured output that answers with one text."""

    batch_size, structures = 4, True

    def __init__(self, text):
        self.text, self.forms = text, []

    def identity(self):
        return {"model": "formed"}

    def generate(self, prompts, decoding, seeds=None, names=None, alike=None, structure=None):
        self.forms += structure or [None] * len(prompts)
        self.prompts = prompts
        return [Reply(self.text, "stop", 1, 1) for _ in prompts]


def test_numbers_are_a_regular_expression():
    pattern = structure.constraint("numbers", ["a", "b", "c"])["regex"]
    assert re.fullmatch(pattern, "[3] > [1] > [2]") and not re.fullmatch(pattern, "[4] > [1] > [2]")
    assert not re.fullmatch(pattern, "[3] > [1]")
    assert re.fullmatch(structure.constraint("numbers", ["a"] * 11)["regex"], " > ".join(["[11]"] * 11))


def test_names_are_a_json_schema():
    schema = structure.constraint("json", ["b", "a"])["json"]["properties"]["ranking"]
    assert schema["items"]["enum"] == ["a", "b"] and schema["minItems"] == schema["maxItems"] == 2


def test_numbers_are_those_of_the_shown_order(cameras):
    engine = Formed("[2] > [1] > [4] > [3]")
    (_, ranking), = GenerateRanker("f", engine, structure="numbers").rank([Job(cameras, ((0, 1, 2, 3), (3, 1, 0, 2)))])
    # under the second order the numbers 1..4 are items 3, 1, 0, 2: item 1 is first, then 3, 2, 0
    assert ranking.ranks == [[2, 1, 4, 3], [4, 1, 3, 2]] and ranking.status == ["ok", "ok"]
    asked = engine.prompts[0][1]["content"]
    assert asked.endswith("best first, as in [2] > [1], and nothing else.") and "numbered list" not in asked
    assert len(engine.forms) == 2


def test_json_is_read(cameras):
    engine = Formed(json.dumps({"ranking": ["Delta Four", "Alpha One", "Gamma Three", "Beta Two"]}))
    (_, ranking), = GenerateRanker("f", engine, structure="json").rank([Job(cameras, ((0, 1, 2, 3),))])
    assert ranking.ranks == [[2, 4, 3, 1]]


def test_the_form_is_part_of_the_identity_and_off_by_default(cameras):
    engine = Formed("1. Alpha One")
    plain, formed = GenerateRanker("f", engine), GenerateRanker("f", engine, structure="json")
    assert "structure" not in plain.identity() and formed.identity()["structure"] == "json"
    list(plain.rank([Job(cameras, ((0, 1, 2, 3),))]))
    assert engine.forms == [None]


def test_what_cannot_be_held_is_refused_before_a_model_loads():
    values = {"rankers": ["smollm2-135m:generate"], "main_ranker": "smollm2-135m:generate"}
    with pytest.raises(GeoBenchError, match="`smollm2-135m` of rankers cannot be held to `json`: its engine has no structured output"):
        load("smoke", values | {"rank_structure": "json"})
    with pytest.raises(GeoBenchError, match="rank_structure: Input should be 'numbers' or 'json'"):
        load("smoke", {"rank_structure": "xml"})
    assert load("smoke", {"rankers": ["bm25"], "main_ranker": "bm25", "rank_structure": "json"})  # no `generate` read-out: nothing to hold


@pytest.mark.parametrize("structure, names, text, ranks, status", [
    ("numbers", ["1984", "3", "Dune"], "[3] > [1] > [2]", [2, 3, 1], "ok"),  # names that look like the prompt's numbers
    ("numbers", ["Kit 4", "Kit 2", "Kit 3", "2"], "[2] > [1] > [4] > [3]", [2, 1, 4, 3], "ok"),
    ("json", ["A", "B <think> x", "C"], '{"ranking":["C","B <think> x","A"]}', [3, 2, 1], "ok"),
    ("json", ["A", "A", "B"], '{"ranking":["A","B","A"]}', [1, 3, 2], "ok"),  # twins: first come, first placed
    ("json", ["A", "B"], '{"ranking":["B","B"]}', [3, 1], "duplicate"),
    ("numbers", ["A", "B", "C"], "[2] > [2] > [1]", [2, 1, 4], "duplicate"),
])  # fmt: skip
def test_a_reply_that_keeps_its_form_is_read_by_it_alone(structure, names, text, ranks, status):
    read = structure_module.read(structure, text, names, "stop")
    assert (read.ranks, read.status) == (ranks, status)


@pytest.mark.parametrize("structure, text", [
    ("numbers", "[2] > ["), ("numbers", "[7] > [1]"), ("numbers", "I rank [1] > [2]"), ("json", '{"ranking":["A"'), ("json", "[1]"),
    ("json", '{"ranking":["Z"]}'), ("json", '{"ranking":5}'), ("json", '{"a":' + "[" * 10**5),
])  # fmt: skip
def test_a_reply_out_of_form_is_left_to_the_parser(structure, text):
    assert structure_module.read(structure, text, ["A", "B"], "length") is None


def test_a_number_without_end_is_no_ranking():
    assert structure_module.read("numbers", "[" + "9" * 5000 + "]", ["A", "B"], "stop") is None
