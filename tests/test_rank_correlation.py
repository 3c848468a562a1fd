"""Spearman by hand, and the square table of rankers."""

import math

import pandas as pd
import pytest

from geobench.errors import GeoBenchError
from geobench.rank_correlation import rank_correlation_table, spearman


def series(**values):
    return pd.Series(values, dtype=float)


def test_spearman_by_hand():
    assert spearman(series(a=1, b=2, c=3, d=4, e=5), series(a=10, b=20, c=90, d=91, e=99)) == pytest.approx(1)
    # Ranks 1 2 3 4 5 against 2 1 4 3 5: 1 - 6 * 4 / (5 * 24).
    assert spearman(series(a=1, b=2, c=3, d=4, e=5), series(a=2, b=1, c=4, d=3, e=5)) == pytest.approx(0.8)


def test_spearman_is_restricted_to_the_shared_index():
    assert spearman(series(a=1, b=2, c=3, d=4, e=5, x=-9), series(y=5, e=5, d=4, c=3, b=2, a=1)) == pytest.approx(1)


def test_spearman_has_no_value_for_fewer_than_five_entries_or_a_constant():
    """Two shared entries would give 1 or -1 whatever they are."""
    for n in range(5):
        few = series(**dict(zip("abcd"[:n], (3, 1, 2, 4))))
        assert math.isnan(spearman(few, few))
    assert math.isnan(spearman(series(a=1, b=2), series(b=1, c=2)))
    assert math.isnan(spearman(series(a=1, b=1, c=1, d=1, e=1), series(a=1, b=2, c=3, d=4, e=5)))


def test_spearman_refuses_nan_and_repeats():
    with pytest.raises(GeoBenchError, match="nan"):
        spearman(series(a=1, b=float("nan")), series(a=1, b=2))
    with pytest.raises(GeoBenchError, match="once"):
        spearman(pd.Series([1.0, 2.0], index=["a", "a"]), series(a=1))


def test_rank_correlation_table():
    rows = [
        {"ranker": ranker, "variant": variant, "value": value, "mean": mean}
        for value, sign in (("nrg", 1), ("success@0.1", -1))
        for ranker, means in {"x": [1, 2, 3, 4, 5], "y": [2, 1, 4, 3, 5], "z": [5, 4, 3, 2, 1], "few": [1, 2]}.items()
        for variant, mean in zip("abcde", [sign * m if ranker == "x" else m for m in means])
    ]
    table = rank_correlation_table(pd.DataFrame(rows), "nrg")
    assert table.index.tolist() == table.columns.tolist() == ["few", "x", "y", "z"] and table["few"].isna().all()
    assert table.loc["x":, "x":].to_numpy().round(12).tolist() == [[1, 0.8, -1], [0.8, 1, -0.8], [-1, -0.8, 1]]
    assert rank_correlation_table(pd.DataFrame(rows), "success@0.1").loc["x", "z"] == pytest.approx(1)


def test_rank_correlation_table_refuses():
    summary = pd.DataFrame([{"ranker": "x", "variant": "a", "value": "nrg", "mean": 1.0}] * 2)
    for value in ("nrg", "success@0.1"):
        with pytest.raises(GeoBenchError, match=f"one mean of {value}"):
            rank_correlation_table(summary, value)
