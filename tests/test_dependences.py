"""What each notebook reads and writes: which wait for which, and, as a real run goes, that they open nothing else."""

import os
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from geobench import paths, runner
from geobench.dependences import FLOWS, before, left, makes, read

WATCH = Path(__file__).with_name("watch")


def test_every_notebook_has_its_row_and_waits_for_earlier_ones_alone():
    assert [*FLOWS] == runner.notebooks()
    assert all(first < name for name in FLOWS for first in before(name))


def test_who_waits_for_whom():
    assert before("01_data") == before("10_released") == before("11_search_data") == set()
    assert before("02_white_box") == before("03_black_box") == before("04_rewrites") == {"01_data"}
    assert before("05_ranking") == before("06_detection") == {"01_data", "02_white_box", "03_black_box", "04_rewrites"}
    assert before("09_evaluation_ladder") == before("05_ranking") | {"05_ranking"}
    assert before("08_figures") == before("05_ranking") | {"05_ranking", "06_detection", "07_statistics"}
    assert before("13_guard") == {"11_search_data"} and before("14_defences") == {"11_search_data", "12_search_answers", "13_guard"}
    assert before("05_mine") == {"01_data", "02_white_box", "03_black_box", "04_rewrites"}  # not in the table: all that come before


def test_no_notebook_writes_what_another_reads_or_writes_at_the_same_time():
    for one in FLOWS:
        for other in FLOWS:
            if one != other and one not in before(other) and other not in before(one):
                touched = (*FLOWS[other].writes, *FLOWS[other].reads)
                assert [(a, b) for a in FLOWS[one].writes for b in touched if fnmatch(a, b) or fnmatch(b, a)] == [], (one, other)


@pytest.mark.parametrize("name, file, made", [
    ("02_white_box", "edits/sts__smollm2-135m.jsonl", True), ("02_white_box", "edits/tap.jsonl", False),
    ("03_black_box", "edits/tap.jsonl", True), ("03_black_box", "edits/external__mine.jsonl", True),
    ("04_rewrites", "edits/quotes.jsonl", True),
    ("05_ranking", "ranks/bm25/clean.jsonl", True), ("14_defences", "search/decisions/tfidf.jsonl", True),
    ("other", "catalog.jsonl", False),
])  # fmt: skip
def test_who_makes_what(name, file, made):
    assert makes(name, file) == made


def test_shared_stores_determine_no_result(tmp_path):
    for file in ("search/embeddings.npz", "search/grades/m.jsonl", "search/instances.jsonl", "catalog.jsonl"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert [f.name for f in read("12_search_answers", tmp_path)] == ["instances.jsonl"]


def test_the_longest_chain_counts_from_its_first_notebook():
    chosen = ["01_data", "02_white_box", "05_ranking"]
    seconds = [FLOWS[name].seconds for name in chosen]
    assert [left(name, chosen) for name in chosen] == [sum(seconds), sum(seconds[1:]), seconds[2]]
    assert left("01_data", ["01_data"]) == FLOWS["01_data"].seconds


RANKING = ("01 03 05", "datasets=[kitchen]", "black_box=[]", "rankers=[bm25]", "main_ranker=bm25")
SEARCH = ("11 12 13 14 15", "search_instances=3", "search_victims=[minilm:extractive]", "search_defence_victims=[minilm:extractive]",
          "search_guard_epochs=1", "search_judge=null", "search_rewrite_queries=1", "search_rewrite_tokens=20", "search_guard_models={}",
          "search_resamples=50")  # fmt: skip


@pytest.mark.parametrize("settings", [RANKING, pytest.param(SEARCH, marks=pytest.mark.slow)])
def test_a_notebook_opens_what_its_row_says(settings, tmp_path):
    only, *values = settings
    command = [sys.executable, "-m", "geobench", "run", "--run", "r", "-p", "workers=1", "--only", *only.split()]
    told = os.environ | {"GEOBENCH_RESULTS": str(tmp_path), "GEOBENCH_WATCH": str(tmp_path / "notes")}
    told["PYTHONPATH"] = os.pathsep.join([str(WATCH), str(paths.ROOT / "lib")])
    subprocess.run([*command, *(word for value in values for word in ("-p", value))], env=told, check=True, stdout=subprocess.DEVNULL)
    names, odd, seen = {name[:2]: name for name in FLOWS}, [], set()
    for line in {*(tmp_path / "notes").read_text().splitlines()}:
        number, mode, path = line.split("\t")
        file, flow = Path(path).relative_to((tmp_path / "r").resolve()).as_posix(), FLOWS[names[number]]
        if file == "params.yaml" or file.split("/")[0] in ("tables", "figures", "notebooks") or ".partial" in file:
            continue  # every notebook's own; a table that another reads is in its row
        seen.add(number)
        if not any(fnmatch(file, pattern) for pattern in (*flow.writes, *flow.reads)):
            odd.append(line)
    assert odd == [] and sorted(seen) == only.split()
