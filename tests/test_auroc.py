"""AUROC by hand and against scikit-learn; the table over data sets."""

import numpy as np
import pandas as pd
import pytest

from geobench.auroc import auroc, auroc_table
from geobench.errors import GeoBenchError


def scores(**by_variant):
    """Score records; {variant: {dataset: scores of targets 1, 2, ...}}."""
    return pd.DataFrame(
        [
            {"dataset": dataset, "list": "l", "target": target, "variant": variant, "score": score}
            for variant, datasets in by_variant.items()
            for dataset, values in datasets.items()
            for target, score in enumerate(values, 1)
        ]
    )


def test_auroc_by_hand():
    assert auroc([0, 1], [2, 3]) == 1
    assert auroc([2, 3], [0, 1]) == 0
    assert auroc([1, 1], [1, 1]) == 0.5
    assert auroc([1, 2], [2, 3]) == (1 + 1 + 0.5 + 1) / 4
    assert auroc([-np.inf, 0], [np.inf]) == 1


def test_auroc_equals_scikit_learn():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    for _ in range(20):
        negative, positive = rng.integers(0, 6, 30), rng.integers(1, 8, 17)
        labels = [0] * 30 + [1] * 17
        assert auroc(negative, positive) == pytest.approx(
            roc_auc_score(labels, np.r_[negative, positive]), abs=1e-12
        )


@pytest.mark.parametrize(
    ("negative", "positive"), [([], [1]), ([1], []), ([1, float("nan")], [1]), ([1], [None])]
)
def test_auroc_refuses(negative, positive):
    with pytest.raises(GeoBenchError, match="AUROC"):
        auroc(negative, positive)


def test_table_takes_the_unweighted_mean_of_the_data_sets():
    table = auroc_table(scores(original={"a": [1, 2], "b": [5, 6, 7]}, v={"a": [2, 3], "b": [1, 2, 9]}))
    assert table.columns.tolist() == ["variant", "a", "b", "mean", "note"]
    assert table.iloc[0].tolist() == [
        "v",
        0.875,
        pytest.approx(1 / 3),
        pytest.approx((0.875 + 1 / 3) / 2),
        "",
    ]


def test_table_compares_with_the_originals_of_the_same_targets_and_says_what_is_missing():
    table = auroc_table(
        scores(original={"a": [1, 0, 9], "b": [1]}, full={"a": [2, 2, 2], "b": [2]}, half={"a": [2]})
    )
    assert table["variant"].tolist() == ["full", "half"]
    assert table["a"].tolist() == [pytest.approx(2 / 3), 1]
    assert table["note"].tolist() == ["", "no edits in b"]
    assert table["mean"].tolist() == [pytest.approx(5 / 6), 1]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            scores(original={"a": [1]}, v={"a": [1, 2]}),
            "a/l, target 2, variant v: the edit or its original has no",
        ),
        (
            scores(original={"a": [1]}, v={"a": [None]}),
            "a/l, target 1, variant v: the edit or its original has no",
        ),
        (
            pd.concat([scores(original={"a": [1]}, v={"a": [1]})] * 2),
            "a/l, target 1, variant original: scored twice",
        ),
        (scores(original={"a": [1]}), "only originals"),
    ],
)
def test_table_refuses(table, message):
    with pytest.raises(GeoBenchError, match=message):
        auroc_table(table)
