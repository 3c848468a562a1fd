"""Prompts: every file loads and can be filled in, values are put in once, and mistakes are named."""

import pytest

from geobench import prompts
from geobench.errors import GeoBenchError
from geobench.prompts import PLACEHOLDER, load_prompt, prompt_sha, render

REWRITES = (
    "authoritative statistics citations quotes fluency unique_words technical_terms simple_language "
    "content_improvement llm_guidance"
).split()
ITEM = {"name", "description", "noun"}
EXPECTED = [  # file, key, placeholders
    ("ranking", "item_line", {"index", "name", "description"}),
    ("ranking", "query", {"noun"}),
    ("ranking", "neutral_query", set()),
    ("ranking", "instruction", {"count"}),
    ("zero_shot", "user", ITEM),
    ("tap", "root", ITEM | {"competitors"}),
    ("tap", "refine", ITEM | {"competitors", "suffix", "mean_rank", "count"}),
    ("judge", "user", {"text"}),
    ("controls", "injection", {"name", "noun"}),
]


def placeholders(template: str) -> set[str]:
    return set(PLACEHOLDER.findall(template))


@pytest.mark.parametrize(("name", "key", "fields"), EXPECTED)
def test_templates_hold_the_placeholders_that_the_code_fills(name, key, fields):
    assert placeholders(load_prompt(name)[key]) == fields


def test_the_ten_rewrites_are_there_and_ask_for_the_text():
    content = load_prompt("rewrites")
    assert list(content) == sorted(REWRITES)
    for rewrite in content.values():
        assert placeholders(rewrite["user"]) == {"name", "text"} and rewrite["description"]
    assert content["statistics"]["marker"] in content["statistics"]["user"]
    assert [name for name, rewrite in content.items() if "marker" in rewrite] == ["statistics"]


def test_the_judge_reads_its_instruction_before_the_text():
    assert load_prompt("judge")["user"].endswith("{text}")


def test_values_are_put_in_once():
    text = '{"a": {name}} {0} {{x}}'
    assert render("{name}: {text}", name="{text}", text=text) == "{text}: " + text
    assert render("{name} costs \\1", name=r"\g<0> & 5%") == r"\g<0> & 5% costs \1"


def test_other_braces_stay_and_unused_fields_are_fine():
    assert render('reply {"rank": {rank}} {} {0}', rank=3, noun="tent") == 'reply {"rank": 3} {} {0}'


def test_a_missing_placeholder_is_named():
    with pytest.raises(GeoBenchError, match=r"no value for placeholder \{noun\}"):
        render("I am looking for a {noun}.", name="x")


@pytest.mark.parametrize("name", ["judgement", "../base", "nothing"])
def test_unknown_prompt_names_the_known_ones(name):
    with pytest.raises(GeoBenchError, match="judge"):
        load_prompt(name)


@pytest.mark.parametrize(("content", "message"), [("- a\n", "expected a mapping"), ("a: [\n", "not valid")])
def test_broken_prompt_file_is_refused_in_one_line(tmp_path, monkeypatch, content, message):
    (tmp_path / "bad.yaml").write_text(content, encoding="utf-8")
    monkeypatch.setattr(prompts, "PROMPTS", tmp_path)
    with pytest.raises(GeoBenchError, match=message) as error:
        load_prompt("bad")
    assert "\n" not in str(error.value)


def test_callers_get_their_own_copy():
    load_prompt("judge")["user"] = "changed"
    assert load_prompt("judge")["user"] != "changed"


def test_sha_depends_on_content_alone(tmp_path, monkeypatch):
    variants = {"a": "system: ''\nuser: hi\n", "b": "# note\nuser: hi\nsystem: ''\n", "c": "user: ho\n"}
    for folder, text in variants.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "p.yaml").write_text(text, encoding="utf-8")
    shas = []
    for folder in "abc":
        monkeypatch.setattr(prompts, "PROMPTS", tmp_path / folder)
        shas.append(prompt_sha("p"))
    assert shas[0] == shas[1] != shas[2]
    assert len(shas[0]) == 12 and set(shas[0]) <= set("0123456789abcdef")
