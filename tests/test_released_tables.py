import json
import shutil

import numpy as np
import pandas as pd
import pytest

from geobench import paths
from geobench.inventory import save
from geobench.released_tables import gaps, per_target, released_table

ROWS = pd.DataFrame([
    {"variant": "v", "ranker": r, "dataset": "d", "list": "l", "target": t, "run": 1, "L": 5, "r_before": b, "r_after": a, "kvr": k}
    for r, t, b, a, k in [("x", 1, 5, 1, 1), ("x", 2, 3, 3, 0), ("y", 1, 5, 5, 1)]
])  # fmt: skip


def test_levels_and_two_rankers_are_kept_apart():
    table = released_table(per_target(ROWS, (0.5, 0.1)))
    assert table["variant"].tolist() == ["v @ x", "v @ y"]
    assert table.loc[0, ["n", "nrg", "success@0.1", "success@0.5", "promote@0.5", "kvr"]].tolist() == [2, 0.5, 0.5, 1, 0.5, 0.5]


def test_a_mean_over_a_missing_value_is_missing():
    rows = ROWS.assign(r_before=[np.nan, 3, 5])
    table = released_table(per_target(rows))
    assert np.isnan(table["nrg"][0]) and table["success@0.1"][0] == 0.5
    assert gaps(per_target(rows))[0].startswith("v, d: 1 targets")


@pytest.mark.parametrize("file", sorted(f.name for f in (paths.ROOT / "data/embedded/released").glob("*.*[lv]")))
def test_a_folder_of_one_format_passes_through_the_notebooks(tmp_path, monkeypatch, file):
    """Notebook 10, and the cells of 09 that read such records: one format has no traces, another no ranks before."""
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    (tmp_path / "mine").mkdir()
    shutil.copy(paths.ROOT / "data/embedded/released" / file, tmp_path / "mine")
    given = {"released_dir": str(tmp_path / "mine"), "resamples": 50}
    for name in ("09_evaluation_ladder", "10_released"):
        cells = json.loads((paths.NOTEBOOKS / f"{name}.ipynb").read_text())["cells"]
        first, *others = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        seen = {"scripts": pd.DataFrame(columns=["texts", "ranker", "part"]), "save": save}
        exec(first, seen)
        seen |= given | {"run": "mine"}
        for cell in others:
            if "script_ladders" not in cell:  # the model's part
                exec(cell, seen)
    tables = {f.stem for f in (tmp_path / "results/mine/tables").glob("*.csv")}
    assert ("table_04_selection" in tables) == ("released_selection" in tables) == file.startswith("stealthrank")
    assert ("released_ladder" in tables) == file.startswith(("stealthrank", "sts")) and "released" in tables
    assert ("released_intervals" in tables) != file.startswith("raf")
