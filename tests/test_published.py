import os
from pathlib import Path

import pandas as pd
import pytest

from geobench.errors import GeoBenchError
from geobench.published import COLUMNS, read_published, read_release, release_spearman, spearman_ranges

MIRROR = Path(os.environ.get("GEOBENCH_DATA_MIRROR", Path(__file__).resolve().parents[2] / "shared" / "data"))


def test_every_published_figure_has_a_source():
    table = read_published()
    assert table.columns.tolist() == COLUMNS and table["source"].str.len().min() > 10 and table["value"].notna().all()
    row = table[(table.variant == "stealthrank__llama-3.1-8b")].set_index("metric")["value"]
    assert row.to_dict() == {"nrg": 0.43, "success@0.1": 0.93, "promote@0.1": 0.72, "kvr": 0.60}


def test_other_shapes_are_refused(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(GeoBenchError, match="x.csv: expected the columns source"):
        read_published(tmp_path)
    pd.DataFrame([["s", "v", "r", "d", "nrg", "much"]], columns=COLUMNS).to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(GeoBenchError, match="x.csv line 2: value: expected a number"):
        read_published(tmp_path)


@pytest.mark.skipif(not (MIRROR / "reference").is_dir(), reason="the release's summaries are absent: set GEOBENCH_DATA_MIRROR")
def test_the_papers_spearman_ranges_come_out():
    square = release_spearman(read_release(MIRROR / "reference"))
    ranges = {name: round(value, 2) for name, value in spearman_ranges(square).items()}
    assert ranges == {"spearman_llm_min": 0.84, "spearman_llm_max": 0.94, "spearman_cross_min": 0.17, "spearman_cross_max": 0.59}
