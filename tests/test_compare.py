import pandas as pd
import pytest

from geobench import paths
from geobench.compare import compare, side_by_side
from geobench.errors import GeoBenchError

COLUMNS = ["variant", "ranker", "dataset", "metric"]


def test_only_the_same_thing_is_comparable():
    published = pd.DataFrame(
        [["s", "tap__m", "r", "d", "nrg", 0.5], ["s", "raf", "r", "d", "nrg", 0.1]], columns=["source", *COLUMNS, "value"]
    )
    found = pd.DataFrame([["tap__n", "q", "d", "nrg", 0.9], ["tap__m", "r", "d", "nrg", 0.4]], columns=[*COLUMNS, "value"])
    table = side_by_side(published, found)
    assert table["comparable"].tolist() == ["yes", "not measured in this run"] and table["difference"][0] == pytest.approx(-0.1)
    table = side_by_side(published, found.head(1))
    assert table["comparable"][0] == "no: other variant (tap__n), other ranker (q)" and table["measured"][0] == 0.9


def test_a_released_run_is_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    monkeypatch.delenv("GEOBENCH_DATA_MIRROR", raising=False)
    tables = tmp_path / "released" / "tables"
    tables.mkdir(parents=True)
    row = {
        "variant": "stealthrank__llama-3.1-8b",
        "dataset": "ragroll",
        "n": 399,
        "nrg": 0.428,
        "success@0.1": 0.935,
        "promote@0.1": 0.714,
        "kvr": 0.596,
    }
    pd.DataFrame([row]).to_csv(tables / "released.csv", index=False)
    said = compare("released")
    assert "nrg                      0.430     0.428     -0.002  stealthrank__llama-3.1-8b, ragroll: yes" in said
    assert said.endswith("4 of 11 published figures have a measured one that is comparable; the others differ in ranker, data or variant.")
    assert (tables / "compare.csv").exists()
    with pytest.raises(GeoBenchError, match="no tables of a run `none`"):
        compare("none")
