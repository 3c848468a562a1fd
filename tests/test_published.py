import os
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest

from geobench.errors import GeoBenchError
from geobench.published import (
    COLUMNS,
    FITTED,
    SECOND_FILES,
    complete_variants,
    read_published,
    read_release,
    release_spearman,
    spearman_ranges,
    spearman_sets,
)

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


@pytest.fixture(scope="module")
def release():
    if not (MIRROR / "reference").is_dir():
        pytest.skip("the release's summaries are absent: set GEOBENCH_DATA_MIRROR")
    return read_release(MIRROR / "reference")


PRINTED = [0.84, 0.94, 0.17, 0.59]


def test_the_papers_spearman_ranges_by_which_variants_enter(release):
    sets = spearman_sets(release).set_index("n").drop(columns="variants").round(2)
    assert sets.loc[17].tolist() == [0.87, 0.95, 0.22, 0.59]
    assert sets.loc[16].tolist() == [0.85, 0.94, 0.19, 0.59]  # the rule with a source
    assert sets.loc[15].tolist() == PRINTED
    assert spearman_ranges(release_spearman(release)) == pytest.approx(dict(zip(sets, sets.loc[16])), abs=0.005)


def test_one_exclusion_of_up_to_three_gives_the_printed_ranges(release):
    have = complete_variants(release)
    wide = release[(release.metric == "nrg") & release.variant.isin(have)].pivot(index="variant", columns="ranker", values="value")
    found = []
    for out in (out for size in range(4) for out in combinations(have, size)):
        square = wide.drop(list(out)).rank().corr()
        if [round(value, 2) for value in spearman_ranges(square).values()] == PRINTED:
            found.append(out)
    assert found == [SECOND_FILES + FITTED]
