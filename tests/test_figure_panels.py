import numpy as np
import pandas as pd

from geobench import figure_panels as panels


def test_matrix_is_antisymmetric_and_marks_what_survives():
    table = pd.DataFrame([("x", "y", 0.4, 0.01), ("x", "z", 0.1, 0.3), ("y", "z", -0.3, 0.04)], columns=["a", "b", "mean", "p_holm"])
    axes = panels.contrast_matrix(table).axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["x", "z", "y"]  # best first
    values = np.ma.filled(axes.images[0].get_array(), np.nan)
    assert values[0, 2] == 0.4 and values[2, 0] == -0.4 and np.isnan(values[1, 1])
    assert len(axes.lines[0].get_xdata()) == 4


def test_missing_correlations_are_said():
    axes = panels.spearman_map(pd.DataFrame([[1, np.nan], [np.nan, 1]], list("ab"), list("ab"))).axes[0]
    assert [t.get_text() for t in axes.texts] == ["1.00", "n/a", "n/a", "1.00"]
