"""The reproducibility appendix, from a run's own files."""

import json

import pandas as pd
import pytest

from geobench.appendix import appendix
from geobench.prompts import prompt_sha
from geobench.records import Records
from geobench.tables import write_table


@pytest.fixture
def run(tmp_path):
    settings = {"records": ["ranks", "prompts"], "setting": ["orders", "judge.user"], "value": ["3", "Is it?\nSay so."], "of": ["b", "ab"]}
    write_table(pd.DataFrame(settings), tmp_path / "tables", "table_12_settings", "")
    return tmp_path


def manifest(folder, name, **values):
    (folder / "manifests").mkdir(exist_ok=True)
    (folder / "manifests" / f"{name}.json").write_text(json.dumps(values))


def test_settings_prompts_and_lexicon_are_those_of_the_records(run):
    with Records(run / "scores" / "keyword.jsonl", {"detector": {"words": ["best"], "phrases": ["#1 choice", "top_rated"]}}):
        pass
    text = appendix(run)
    assert "Words: best." in text and r"Phrases: \#1 choice, top\_rated." in text and r"orders & 3 & b \\" in text
    assert r"judge.user & Is it?\newline Say so. & ab \\" in text  # the lines of a prompt stay


def test_the_search_track_states_its_victims_and_prompts(run):
    fingerprint = {"corpus": "c", "victim": {"model": "m", "prompt": prompt_sha("search_answer")}}
    with Records(run / "search" / "answers" / "m__generate.jsonl", fingerprint):
        pass
    (run / "search" / "instances.jsonl").write_text("{}\n")  # a corpus, no records
    text = appendix(run)
    assert r"victim.model & m & answers/" in text and r"search\_a" in text and r"\subsection*{Search track}" in text
    assert "corpus &" not in text


def test_machine_hours_dollars_and_versions(run):
    manifest(run, "01_data", seconds=1800, machine="M", dollars=0.5, versions={"torch": "2"})
    manifest(run, "02_more", seconds=1800, machine="M", dollars=1.25, versions={"torch": "2"})
    text = appendix(run)
    assert "M. 1.00 hours in 2 notebooks; 1.25 US dollars to API models. Versions: torch 2." in text  # dollars are running totals


def test_what_is_missing_is_a_gap(tmp_path):
    text = appendix(tmp_path)
    assert r"\gap{manifests}" in text and r"\gap{settings}" in text and "Lexicon" not in text
