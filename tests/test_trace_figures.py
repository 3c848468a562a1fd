"""Curves: one line and one band per variant, integer steps."""

import pandas as pd

from geobench.trace_figures import step_curves


def test_a_line_and_a_band_per_variant():
    rows = [{"variant": v, "step": s, "mean": 1.0, "low": 0.5, "high": 2.0} for v in ("raf__m", "sts__m") for s in (0, 2)]
    figure = step_curves(pd.DataFrame(rows), "loss")
    (axes,) = figure.axes
    assert len(axes.lines) == len(axes.collections) == 2 and [t.get_text() for t in figure.legends[0].texts] == ["raf", "sts"]
