import pandas as pd
import pytest

from geobench.errors import GeoBenchError
from geobench.search.defences import published
from geobench.search.defences.tables import MEAN


def test_the_printed_figures_are_whole():
    rows = {r["measured"]: r["published"] for r in published.read_rows()}
    assert rows["asr_without"] == 55.7 and rows["guard:drop relative"] == -47.6
    assert rows["guard:drop change"] / rows["asr_without"] == pytest.approx(-0.476, abs=5e-4)


def test_measured_stands_beside_published_and_is_missing_where_nothing_was_measured(tmp_path):
    each = (("a", -0.4), ("b", -0.2), (MEAN, -0.3))
    effect = pd.DataFrame([{"defence": "guard:drop", "victim": v, "without": 0.8, "change": c, "relative": c / 0.8} for v, c in each])
    accuracy = pd.DataFrame([{"defence": "guard:drop", "victim": v, "change": -0.1} for v, _ in each])
    table = published.beside_table(effect, accuracy)
    assert table["here"].round(6).tolist()[:4] == [80, -30, -37.5, -10] and table["here"].isna().sum() == 5
    (tmp_path / "x.yaml").write_text("- {figure: a, published: high, measured: null}\n")
    with pytest.raises(GeoBenchError, match="x.yaml row 1: expected figure, published"):
        published.read_rows(tmp_path / "x.yaml")
