"""Scenes on a tiny decoder: prompts, goals, starts, and which suffixes survive re-tokenisation."""

import pytest

from geobench.attacks import scene
from geobench.attacks.base import Task
from geobench.attacks.vocabulary import vocabulary
from geobench.lists import make_list
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker

ORDERS = [(2, 0, 3, 1), (0, 1, 3, 2)]  # the target (item 3) first and last


@pytest.fixture(scope="module")
def words(engine):
    return vocabulary(engine)


def test_the_deployed_scene_is_the_ranking_prompt(engine, task, words):
    scenes, slot = scene.scenes_of(task(3), engine, ORDERS, 6, words, {})
    assert words.text(slot) == " *" * 6 or words.text(slot).split()[-1] == "x"
    for here, order in zip(scenes, ORDERS):
        text = task(3).item.description + words.text(slot)
        whole = engine.encode_chat(GenerateRanker("g", engine).messages(Job(task(3).list, (order,), 3, text), order))
        assert whole == here.head + slot + here.tail and len(here.past) == len(here.head)
        assert engine.tokenizer.decode(here.goal) == "1. Cedar Kettle"


OWN = [("sts", "1. Cedar Kettle", ""), ("raf", "Cedar Kettle", '["'), ("stealthrank", "1. Cedar Kettle", "")]


@pytest.mark.parametrize("style, goal, end", OWN)
def test_own_prompts_end_where_the_wanted_reply_begins(engine, task, words, style, goal, end):
    scenes, _ = scene.scenes_of(task(3), engine, ORDERS, 4, words, {}, style)
    assert engine.tokenizer.decode(scenes[0].goal) == goal and scenes[0].after.endswith("<|assistant|>" + end)


def test_the_attention_scene_ends_with_the_items(engine, task, words):
    scenes, slot = scene.scenes_of(task(3), engine, ORDERS, 4, words, {}, None, "attention")
    first, last = scenes
    assert last.tail == [] and last.after == "" and first.goal == [] and [here.wanted.shown for here in scenes] == [0, 3]
    whole = first.head + slot + first.tail
    start, end = first.wanted.spans[first.wanted.shown]
    line = engine.tokenizer.decode(whole[start:end])
    assert line.endswith(words.text(slot)) and "Cedar Kettle: Light" in line
    assert first.wanted.spans[-1][1] == len(whole)


def test_a_start_of_the_targets_own_words(engine, task, words, monkeypatch):
    scenes, slot = scene.scenes_of(task(3), engine, ORDERS, 4, words, {}, start="description")
    text = words.text(slot)
    assert [word in task(3).item.description.split() for word in text.split()] == [True] * 4 and scene.stands(slot, engine, scenes, words)
    monkeypatch.setattr(scene, "own_words", lambda *_: [])
    assert words.text(scene.scenes_of(task(3), engine, ORDERS, 4, words, {}, start="description")[1]) == " * * * *"


def test_own_words_are_repeated_and_need_one(task, words):
    (text,) = scene.own_words(task(3), 9, words)
    first = [w for w in dict.fromkeys(text.split())]
    assert text.split() == (first * 9)[:9] and len(text.split()) == 9
    strange = Task(make_list("d", "l", "n", [("A", "\u6c34 \u706b"), ("B", "b")]), 1)
    assert scene.own_words(strange, 4, words) == []


def test_suffixes_that_merge_are_dropped(engine, task, words):
    scenes, slot = scene.scenes_of(task(3), engine, ORDERS, 6, words, {})
    letters = [engine.tokenizer.convert_tokens_to_ids(t) for t in ("Ġ", "k", "e")]
    merging = [*slot[:3], *letters]
    assert scene.stands(slot, engine, scenes, words) and not scene.stands(merging, engine, scenes, words)
    assert scene.survivors([slot, merging, slot[:2]], slot, engine, scenes, words) == [slot, slot[:2]]
