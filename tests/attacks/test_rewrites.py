"""What of a reply becomes the new description."""

import pytest
from scripted import LAMPS, Writer

from geobench.attacks import NAMES, rewrites
from geobench.attacks.base import Task
from geobench.params import load


def test_finished_text(cameras):
    task = Task(cameras, 1)
    assert rewrites.finished_text("statistics", task, "notes\nOUTPUT: 9 of 10 like it.") == "9 of 10 like it."
    assert rewrites.finished_text("llm_guidance", task, "Summary.") == "Summary.\n\nA bright lens."
    assert rewrites.finished_text("fluency", task, " \n") == "A bright lens."
    assert rewrites.finished_text("fluency", task, "<think>Shorter?</think>\nA clear lens.") == "A clear lens."
    assert rewrites.finished_text("statistics", task, "<think>OUTPUT: no</think> OUTPUT: 9 of 10.") == "9 of 10."


def test_prompts_carry_name_and_text(cameras):
    *_, user = rewrites.messages("fluency", Task(cameras, 1))
    assert "Alpha One" in user["content"] and "A bright lens." in user["content"]


@pytest.mark.parametrize("method", NAMES)
def test_rewrites_replace_the_description(method):
    ((_, edit),) = rewrites.run([(method, LAMPS)], Writer("Notes. OUTPUT: A new text."), load("smoke"))
    want = {"statistics": "A new text.", "llm_guidance": "Notes. OUTPUT: A new text.\n\nA lamp of kind C."}
    assert edit["mode"] == "rewrite" and edit["text"] == want.get(method, "Notes. OUTPUT: A new text.")


def test_an_empty_rewrite_leaves_the_description():
    ((_, edit),) = rewrites.run([("fluency", LAMPS)], Writer("  "), load("smoke"))
    assert edit["text"] == "A lamp of kind C."
