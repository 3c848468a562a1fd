"""What a filter leaves of an attack: flagged edits gain nothing, and a promoted target counts only if its edit passed."""

from geobench.auroc import KEY
from geobench.errors import GeoBenchError
from geobench.metrics import LEVEL
from geobench.stats import summarise

RATES = ("flag", "passed", "kvr", "success", "promote")


def outcomes(targets, wide, points):
    """`targets` (one ranker's per-target table) with flag, residual (NRG) and passed (promoted and not flagged) per point.

    One row per variant, target and point. GeoBenchError, naming it, for an edit without a score.
    """
    import pandas as pd

    keys = [*KEY, "variant"]
    both = targets.merge(wide, on=keys, how="left", indicator=True, suffixes=("", "_score"))
    if len(lost := both[both["_merge"] == "left_only"]):
        raise GeoBenchError(f"{'/'.join(map(str, lost.iloc[0][keys]))}: ranked, but no detector has scored it")
    parts = []
    for point in points:
        flag = point.flags(both).astype(float)
        parts.append(both[keys].assign(
            point=point.name, nrg=both["nrg"], flag=flag, residual=both["nrg"] * (1 - flag), passed=both[f"promote@{LEVEL:g}"] * (1 - flag),
        ))  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def outcome_table(made, resamples: int = 5000, seed: int = 0, weighting: str = "dataset", inference: str = "t"):
    """One row per variant and point: flag, residual and passed with intervals over lists (columns NAME, NAME_lo, NAME_hi)."""
    values = ["flag", "residual", "passed"]
    long = summarise(made, values, ("variant", "point"), resamples, seed, weighting, inference)
    return spread(long, ["variant", "point"])


def spread(long, by: list[str]):
    """From one row per group and value (`summarise`) to one row per group: each value, its lo and hi (`within`), counts and notes."""
    import pandas as pd

    rows = []
    for group, part in long.groupby(by, sort=False):
        row = dict(zip(by, group, strict=True))
        for value in part.itertuples():
            low, high = within(value.value, value.lo, value.hi)
            row |= {value.value: value.mean, f"{value.value}_lo": low, f"{value.value}_hi": high}
        first = part.iloc[0]
        rows.append(row | {k: first[k] for k in ("n_targets", "n_lists", "n_datasets", "note")})
    return pd.DataFrame(rows)


def clipped(long):
    """`summarise`'s rows with their ends cut by `within`."""
    ends = [within(row.value, row.lo, row.hi) for row in long.itertuples()]
    return long.assign(lo=[low for low, _ in ends], hi=[high for _, high in ends])


def within(value: str, low: float, high: float) -> tuple[float, float]:
    """The ends of an interval, cut to what the mean of a rank gain (-1 to 1) or of a rate (0 to 1) can be."""
    name = value.split("@")[0]
    least = {"nrg": -1, "residual": -1}.get(name, 0 if name in RATES else None)
    return (low, high) if least is None else (max(low, least), min(high, 1)) if low == low else (low, high)
