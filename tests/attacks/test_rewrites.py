"""What of a reply becomes the new description."""

from geobench.attacks import rewrites
from geobench.attacks.base import Task


def test_finished_text(cameras):
    task = Task(cameras, 1)
    assert rewrites.finished_text("statistics", task, "notes\nOUTPUT: 9 of 10 like it.") == "9 of 10 like it."
    assert rewrites.finished_text("llm_guidance", task, "Summary.") == "Summary.\n\nA bright lens."
    assert rewrites.finished_text("fluency", task, " \n") == "A bright lens."


def test_prompts_carry_name_and_text(cameras):
    *_, user = rewrites.messages("fluency", Task(cameras, 1))
    assert "Alpha One" in user["content"] and "A bright lens." in user["content"]
