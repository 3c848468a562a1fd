from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from geobench import figure_panels as panels


def test_matrix_is_antisymmetric_and_marks_what_survives():
    table = pd.DataFrame([("x", "y", 0.4, 0.01), ("x", "z", 0.1, 0.3), ("y", "z", -0.3, 0.04)], columns=["a", "b", "mean", "p_adjusted"])
    axes = panels.contrast_matrix(table).axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["x  1", "z  2", "y  3"]  # best first
    assert [t.get_text() for t in axes.get_xticklabels()] == ["1", "2", "3"]
    values = np.ma.filled(axes.images[0].get_array(), np.nan)
    assert values[0, 2] == 0.4 and values[2, 0] == -0.4 and np.isnan(values[1, 1])
    assert len(axes.lines[0].get_xdata()) == 4


def test_missing_correlations_are_said():
    axes = panels.spearman_map(pd.DataFrame([[1, np.nan], [np.nan, 1]], list("ab"), list("ab"))).axes[0]
    assert [t.get_text() for t in axes.texts] == ["1.00", "n/a", "n/a", "1.00"]


@pytest.mark.parametrize("count", [2, 6, 24])
def test_names_beside_a_matrix_stay_on_the_page_and_apart(count):
    names = [f"content_improvement__a-model-of-{n}b" for n in range(count)]
    contrasts = pd.DataFrame([(a, b, 0.1, 0.5) for a, b in combinations(names, 2)], columns=["a", "b", "mean", "p_adjusted"])
    square = pd.DataFrame(np.eye(min(count, 6)), names[:6], names[:6])
    for figure in (panels.contrast_matrix(contrasts, 3.3), panels.spearman_map(square, 3.3)):
        figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
        assert min(box.x0 for box in boxes) >= 0
        assert all(upper.y0 >= lower.y1 - 1.5 for upper, lower in zip(boxes, boxes[1:]))  # a pixel of 100 dpi
