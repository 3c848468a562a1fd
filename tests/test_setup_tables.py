"""Tables of what ran, from a small run without a model."""

import json
import shutil

import pytest

from geobench import inventory, paths, run
from geobench.editing import make_edits
from geobench.errors import GeoBenchError
from geobench.params import load
from geobench.ranking import rank_all
from geobench.setup_tables import changes, compute_table, datasets_table, examples_table, settings_table, unparsed_table


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    values = {"datasets": ["kitchen", "outdoor"], "lists_per_dataset": 1, "targets_per_list": 2, "rankers": ["bm25"], "main_ranker": "bm25"}
    made = run.Run(folder / "r", load("smoke", values))
    made.choose()
    make_edits(made, ["injection", "padding"])
    rank_all(made, "bm25")
    return made


def test_changes_by_hand():
    assert changes("a good tent", "a very good tent") == "a {+very+} good tent"
    assert changes("a good tent", "a bad tent") == "a [-good-] {+bad+} tent"
    assert changes("same", "same") == "same"
    words = " ".join(f"w{n}" for n in range(20))
    assert changes(words, words + " end") == "w0 w1 w2 w3 w4 ... w15 w16 w17 w18 w19 {+end+}"


def test_tables_of_a_run(work):
    sets = datasets_table(work.selected).set_index("dataset")
    assert sets["lists"].tolist() == [1, 1] and sets["targets"].tolist() == [2, 2] and sets.loc["kitchen", "items"] in (6, 7)
    examples = examples_table(work)
    assert examples["variant"].tolist() == ["injection", "padding"] and examples["text"].str.contains("{+", regex=False).all()
    assert unparsed_table(work).values.tolist() == [["bm25", "all", 2 + 2 * 4, 1.0, 0.0]]
    settings = settings_table(work)
    assert settings[settings.setting == "ranker.read_out"]["value"].tolist() == ["bm25"]
    assert settings[(settings.records == "parameters") & (settings.setting == "resamples")]["value"].tolist() == ["5000"]
    assert compute_table(work)["targets"].tolist() == [4, 4]


def test_missing_targets_are_counted_apart_from_replies_that_miss_any_item(work, monkeypatch):
    from geobench import setup_tables

    orders = [[0, 1, 2], [2, 1, 0]]
    clean = [{"orders": orders, "ranks": [[1, 2, 4], [1, 2, 3]], "status": ["partial", "ok"]}]
    edited = [{"variant": "v", "orders": orders, "ranks": rows, "status": ["partial", "ok"]} for rows in ([4, 1], [2, 2])]
    monkeypatch.setattr(setup_tables, "read_ranks", lambda *_: (clean, edited))
    table = unparsed_table(work).set_index("variant")
    assert table["missing"].to_dict() == {"clean": pytest.approx(1 / 6), "v": 0.25} and table["ok"].tolist() == [0.5, 0.5]


def test_provenance_counts_the_records(work):
    table = inventory.provenance(work.folder).set_index(["item", "records"])
    assert table.loc[("table_01_methods", "edits/*.jsonl"), ["files", "lines"]].tolist() == [2, 2 * 5]  # a fingerprint and 4 records each
    later = {"table_04_scripts", "table_04_published_ranks", "table_04_selection"}
    assert set(table.index.get_level_values("item")) == (set(inventory.TABLES) | set(inventory.FIGURES)) - later
    (work.folder / "ladder" / "r").mkdir(parents=True)
    (work.folder / "ladder" / "r" / "s.jsonl").write_text("{}\n")  # made by notebook 09, after this table
    assert inventory.provenance(work.folder).set_index(["item", "records"]).equals(table)
    with pytest.raises(GeoBenchError, match="no table or figure `table_99`"):
        inventory.caption("table_99")


def test_tables_do_not_depend_on_batch_size_order_or_seconds(work, tmp_path):
    again = run.Run(tmp_path / "r", load("smoke", work.params.model_dump() | {"batch_size": 3, "checkpoint_every": 9}))
    shutil.copytree(work.folder, again.folder)
    for file in (again.folder / "edits").glob("*.jsonl"):
        head, *rows = file.read_text().splitlines()
        rows = [json.dumps(json.loads(row) | {"seconds": 99.0}) for row in reversed(rows)]
        file.write_text("\n".join([head, *rows]) + "\n")
    assert settings_table(again).equals(settings_table(work))
    assert inventory.provenance(again.folder).equals(inventory.provenance(work.folder))
    file.write_text("\n".join([head, *rows]).replace("kitchen", "Kitchen") + "\n")
    assert not inventory.provenance(again.folder).equals(inventory.provenance(work.folder))


def test_paths_stay_out_of_the_tables(work):
    assert str(paths.ROOT) not in settings_table(work).to_csv()
