"""The paper's printed figures (data/published/search_track.yaml) beside a run's; sizes are not comparable, and the notebook says why."""

from pathlib import Path

import numpy as np

from geobench import paths
from geobench.errors import GeoBenchError, came
from geobench.search.defences.tables import MEAN
from geobench.yaml_values import parse_yaml

FILE = paths.ROOT / "data" / "published" / "search_track.yaml"


def read_rows(file: Path = FILE) -> list[dict]:
    """Rows of figure, published, measured (the run's name for it, or None)."""
    rows = parse_yaml(Path(file).read_bytes(), Path(file).name)
    for n, row in enumerate(rows, 1):
        if set(row) != {"figure", "published", "measured"} or not isinstance(row["published"], (int, float)):
            raise GeoBenchError(f"{Path(file).name} row {n}: expected figure, published (a number) and measured, got {came(row, 80)}")
    return rows


def beside_table(effect, accuracy, file: Path = FILE):
    """Published and measured values in percent; measured ones are means of the victims, nan where this run has no counterpart."""
    import pandas as pd

    effect, accuracy = (table[(table.victim == MEAN) | (table.groupby("defence")["victim"].transform("nunique") == 1)]
                        for table in (effect, accuracy))  # fmt: skip
    own = {"asr_without": 100 * effect["without"].iloc[0]}
    for row in effect.itertuples():
        own[f"{row.defence} change"] = 100 * row.change
        own[f"{row.defence} relative"] = 100 * row.relative
        own[f"{row.defence} accuracy"] = 100 * accuracy.loc[accuracy.defence == row.defence, "change"].mean()
    rows = [{"figure": r["figure"], "published": float(r["published"]), "here": own.get(r["measured"], np.nan)} for r in read_rows(file)]
    return pd.DataFrame(rows)
