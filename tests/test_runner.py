import json

import pytest

from geobench import paths, runner
from geobench.__main__ import main
from geobench.errors import GeoBenchError

SMALL = {
    "datasets": ["kitchen", "outdoor"], "lists_per_dataset": 1, "targets_per_list": 1, "rankers": ["bm25"], "main_ranker": "bm25",
    "white_box": [], "black_box": [], "rewrites": [],
}  # fmt: skip


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    monkeypatch.setenv("GEOBENCH_RESULTS", str(tmp_path))


def test_real_notebooks_run_are_reused_and_refuse_other_parameters(tmp_path):
    rows = runner.execute(runner.plan("smoke", SMALL, "r", ["01", "03", "05"]), say=lambda _: None)
    assert [(r["notebook"], r["state"]) for r in rows] == [("01_data", "ran"), ("03_black_box", "ran"), ("05_ranking", "ran")]
    assert (tmp_path / "r/tables/rankers.csv").exists() and (tmp_path / "r/notebooks/05_ranking.html").exists()
    assert "05_ranking" in (tmp_path / "r/report/index.html").read_text()
    again = runner.execute(runner.plan("smoke", SMALL, "r", ["01", "03", "05"]), say=lambda _: None)
    assert {r["state"] for r in again} == {"reused"}
    (tmp_path / "r/manifests/03_black_box.json").write_text("[1]")
    with pytest.raises(GeoBenchError, match="03_black_box.json: .*its notebook must run again"):
        runner.execute(runner.plan("smoke", SMALL, "r", ["05"]), say=lambda _: None)
    said = []
    healed = runner.execute(runner.plan("smoke", SMALL, "r", ["01", "03", "05"]), say=said.append)
    assert [r["state"] for r in healed] == ["reused", "ran", "reused"] and "03_black_box.json: " in " ".join(said)
    (tmp_path / "r/tables/rankers.csv").unlink()
    table = runner.execute(runner.plan("smoke", SMALL, "r", ["01", "03", "05"]), say=lambda _: None)
    assert [r["state"] for r in table] == ["reused", "reused", "ran"] and (tmp_path / "r/tables/rankers.csv").exists()
    row = tmp_path / "r/tables/rankers.csv"
    mine, catalog = row.read_text(), (tmp_path / "r/catalog.jsonl").read_text()
    row.write_text(mine.replace("bm25", "other"))  # as by notebook 05 opened by hand with other parameters
    (tmp_path / "r/catalog.jsonl").write_text(catalog.replace('"targets": [', '"targets": [1, '))  # and 01
    by_hand = runner.execute(runner.plan("smoke", SMALL, "r", ["01", "03", "05"]), say=lambda _: None)
    assert [r["state"] for r in by_hand] == ["ran", "reused", "ran"]
    assert row.read_text() == mine and (tmp_path / "r/catalog.jsonl").read_text() == catalog
    with pytest.raises(GeoBenchError, match="made with other parameters .orders: 3 -> 4"):
        runner.plan("smoke", SMALL | {"orders": 4}, "r")
    runner.plan("smoke", SMALL | {"batch_size": 1}, "r")


def test_a_later_notebook_in_a_new_run_takes_the_profiles_edits(tmp_path):
    runner.execute(runner.plan("smoke", SMALL, None, ["01", "03"]), say=lambda _: None)
    said = []
    runner.execute(runner.plan("smoke", SMALL | {"seed": 0, "resamples": 10}, "more", ["05_ranking"]), say=said.append)
    assert any("catalog and edits" in line for line in said)
    assert (tmp_path / "more/edits/injection.jsonl").read_bytes() == (tmp_path / "smoke/edits/injection.jsonl").read_bytes()


def test_a_failing_notebook_names_its_error_and_is_no_result(tmp_path):
    with pytest.raises(GeoBenchError, match="05_ranking.*no catalog|has no catalog"):
        runner.execute(runner.plan("smoke", SMALL, "bare", ["05"]), say=lambda _: None)
    assert not (tmp_path / "bare/manifests").exists()


def test_the_released_profile_prints_its_rows_and_needs_no_model(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("GEOBENCH_DATA_MIRROR", raising=False)
    assert runner.plan("released").chosen == ["10_released"] and runner.plan("released", only=["01"]).chosen == ["01_data"]
    assert main(["run", "--profile", "released", "-p", "resamples=100"]) == 0
    assert "| stealthrank__sample | kitchen | 4 | 0.583 | 0.500 | 0.250 | 0.500 |" in capsys.readouterr().out
    header = (tmp_path / "released/tables/released.csv").read_text().splitlines()[0]
    assert header == "variant,dataset,n,nrg,success@0.1,promote@0.1,kvr"
    assert {r["state"] for r in runner.execute(runner.plan("released", {"resamples": 100}), say=lambda _: None)} == {"reused"}


def test_a_bad_released_folder_is_named_before_anything_runs(tmp_path, capsys):
    assert main(["run", "--profile", "released", "-p", f"released_dir={tmp_path}/none"]) == 2
    assert "released_dir: expected a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments,said",
    [
        (["-p", "order=4"], "Did you mean `orders`?"),
        (["--only", "05_rankin"], "Did you mean `05_ranking`?"),
        (["--profile", "nope"], "unknown profile `nope`"),
        (["-p", "orders"], "name=value"),
    ],
)
def test_command_line_errors_are_one_line(arguments, said, capsys):
    assert main(["run", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_dry_run_counts_rankings(capsys):
    assert main(["run", "--dry-run", "-p", "rankers=[bm25]", "-p", "main_ranker=bm25"]) == 0
    assert "bm25: 114 rankings (1 orders)" in capsys.readouterr().out  # 6 lists + 17 variants x 6 targets


def test_notebooks_are_clean():
    for file in sorted(paths.NOTEBOOKS.glob("*.ipynb")):
        book = json.loads(file.read_text())
        code = [c for c in book["cells"] if c["cell_type"] == "code"]
        assert book["metadata"]["kernelspec"]["name"] == "python3"
        assert sum("parameters" in c["metadata"].get("tags", []) for c in code) == 1, file.name
        assert not any(c["outputs"] for c in code) and all(len(c["source"]) <= 25 for c in code if not c["metadata"].get("tags")), file.name


def test_parameter_cells_hold_the_smoke_profile():
    import papermill

    from geobench.params import load

    smoke = load("smoke").model_dump()
    for file in sorted(paths.NOTEBOOKS.glob("*.ipynb")):
        for name, found in papermill.inspect_notebook(str(file)).items():
            if name != "run":
                assert eval(found["default"]) == smoke[name], (file.name, name)
