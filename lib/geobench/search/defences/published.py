"""The paper's printed figures (data/published/search_track.yaml) beside a run's; sizes are not comparable, and the notebook says why."""

from pathlib import Path

import numpy as np

from geobench import paths
from geobench.errors import GeoBenchError, came
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
    """Published and measured values in percent; measured ones are means over victims, nan where this run has no counterpart."""
    import pandas as pd

    own = {"asr_without": 100 * effect.drop_duplicates("victim")["without"].mean()}
    for defence, part in effect.groupby("defence"):
        own[f"{defence} change"] = 100 * part["change"].mean()
        own[f"{defence} relative"] = 100 * part["change"].sum() / part["without"].sum()
        own[f"{defence} accuracy"] = 100 * accuracy.loc[accuracy.defence == defence, "change"].mean()
    rows = [{"figure": r["figure"], "published": float(r["published"]), "here": own.get(r["measured"], np.nan)} for r in read_rows(file)]
    return pd.DataFrame(rows)
