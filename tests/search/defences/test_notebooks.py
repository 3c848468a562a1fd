"""Notebooks 13 to 15 on two queries with the real embedded models, and the shape of the notebook files."""

import json

import pytest

from geobench import paths, runner
from geobench.params import load

SMALL = {
    "search_instances": 2, "search_rewrite_queries": 0, "search_victims": ["minilm:extractive"], "search_defence_victims": None,
    "search_judge": None, "search_resamples": 100, "search_guard_epochs": 1, "search_guard_folds": 2, "search_guard_instances": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", ["13_guard", "14_defences", "15_search_statistics"])
def test_a_notebook_has_one_parameters_cell_equal_to_smoke_and_no_outputs(name):
    cells = json.loads((paths.NOTEBOOKS / f"{name}.ipynb").read_text())["cells"]
    assert [c["id"] for c in cells] == [f"{name[:2]}-{n:02d}" for n in range(len(cells))]
    (own,) = [c for c in cells if "parameters" in c["metadata"].get("tags", ())]
    values = {}
    exec("".join(own["source"]), values)
    values = {k: v for k, v in values.items() if not k.startswith("__") and k != "run"}
    smoke = load("smoke").model_dump()
    assert values == {k: smoke[k] for k in values}
    assert not any(c.get("outputs") for c in cells)


@pytest.mark.slow
def test_the_defence_notebooks_run_and_are_reused(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    monkeypatch.setenv("GEOBENCH_RESULTS", str(tmp_path))
    wanted = ["11", "12", "13", "14", "15"]
    rows = runner.execute(runner.plan("smoke", SMALL, "s", wanted), say=lambda _: None)
    assert {r["state"] for r in rows} == {"ran"}
    for table in ("guard_auc", "guard_control", "defence_effect", "defence_guard_models", "search_stat_mcnemar", "search_stat_published"):
        assert (tmp_path / f"s/tables/{table}.csv").exists(), table
    assert (tmp_path / "s/search/guard/model.safetensors").exists()
    assert "fig_search_stat_roc" in (tmp_path / "s/report/index.html").read_text()
    again = runner.execute(runner.plan("smoke", SMALL, "s", wanted), say=lambda _: None)
    assert {r["state"] for r in again} == {"reused"}
