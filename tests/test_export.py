import pytest

from geobench import paths
from geobench.errors import GeoBenchError
from geobench.export import export, inches


def test_lengths():
    assert inches("3.3in") == 3.3 and inches("84 mm") == pytest.approx(84 / 25.4) and inches(None) == 3.4
    for bad in ("3", "3.3", "0.1in", "wide", "99cm"):
        with pytest.raises(GeoBenchError, match="--width: expected a length"):
            inches(bad)


def test_unknown_runs_tables_and_formats_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    (tmp_path / "smoke" / "tables").mkdir(parents=True)
    with pytest.raises(GeoBenchError, match="no run `smok`.*Did you mean `smoke`"):
        export("smok", tmp_path / "out")
    with pytest.raises(GeoBenchError, match="no table `x`"):
        export("smoke", tmp_path / "out", tables=["x"])
    with pytest.raises(GeoBenchError, match="--format tex: figures come as"):
        export("smoke", tmp_path / "out", figures=["fig_gain"], kind="tex")
