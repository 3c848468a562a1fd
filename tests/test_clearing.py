"""--force makes the program's own records anew, and leaves what people have put beside them."""

import pytest

from geobench import runner
from geobench.clearing import clear

FOLDER = (
    "catalog.jsonl", "edits/padding.jsonl", "edits/tap__m.jsonl", "edits/external__mine.jsonl", "ranks/bm25/clean.jsonl",
    "ranks/notes.txt", "scores/judge.jsonl", "ladder/m__attention/numbered-own.jsonl", "ladder/notes.md", "search/instances.jsonl",
    "search/gate.jsonl", "search/contexts.jsonl", "search/answers/m__generate.jsonl", "search/grades/j.jsonl", "search/guard/guard.json",
    "search/decisions/guard.jsonl", "search/defended/m.jsonl", "search/annotation.csv", "search/labels_ann.csv", "search/labels.csv",
    "search/my_notes.txt", "tables/table_02_main.csv",
)  # fmt: skip
BY_HAND = {"ranks/notes.txt", "ladder/notes.md"}
BY_HAND |= {f"search/{name}" for name in ("labels_ann.csv", "labels.csv", "my_notes.txt", "annotation.csv")}


@pytest.fixture
def folder(tmp_path):
    for name in FOLDER:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


def left(folder) -> set[str]:
    return {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}


@pytest.mark.parametrize("name, gone", [
    ("01_data", {"catalog.jsonl"}),
    ("03_black_box", {"edits/padding.jsonl", "edits/tap__m.jsonl", "edits/external__mine.jsonl"}),
    ("05_ranking", {"ranks/bm25/clean.jsonl"}),
    ("07_statistics", {"tables/table_02_main.csv"}),
    ("09_evaluation_ladder", {"ladder/m__attention/numbered-own.jsonl"}),
    ("11_search_data", {"search/instances.jsonl", "search/gate.jsonl"}),
    ("12_search_answers", {"search/contexts.jsonl", "search/answers/m__generate.jsonl", "search/grades/j.jsonl"}),
    ("13_guard", {"search/guard/guard.json"}),
    ("15_search_statistics", set()),
    ("14_defences", {"search/decisions/guard.jsonl", "search/defended/m.jsonl"}),
])  # fmt: skip
def test_a_notebooks_records_and_no_other_file(folder, name, gone):
    clear(folder, [name])
    assert set(FOLDER) - left(folder) == gone


def test_nothing_made_by_hand_goes_whatever_is_chosen(folder):
    clear(folder, runner.notebooks())
    assert left(folder) == BY_HAND


def test_the_ladder_ranks_anew_under_other_orders_after_force(kitchen_run):
    """Notebook 09's own advice, `--force`, mends what it complains of."""
    from geobench.errors import GeoBenchError
    from geobench.records import Records

    file = kitchen_run.folder / "ladder" / "m" / "numbered.jsonl"
    Records(file, {"orders": 3}).__exit__()
    with pytest.raises(GeoBenchError, match="orders: 3 -> 4.*--force"):
        Records(file, {"orders": 4})
    clear(kitchen_run.folder, ["09_evaluation_ladder"])
    Records(file, {"orders": 4}).__exit__()
