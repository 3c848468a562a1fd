"""Detectability: how well a detector's scores tell edited descriptions from their originals."""

import numpy as np

from geobench.errors import GeoBenchError, came

KEY = ("dataset", "list", "target")


def auroc(negative, positive) -> float:
    """Probability that a positive scores above a negative, ties half; GeoBenchError for nan or no scores."""
    from scipy.stats import rankdata

    low, high = np.asarray(negative, float).ravel(), np.asarray(positive, float).ravel()
    if not low.size or not high.size or np.isnan(low).any() or np.isnan(high).any():
        raise GeoBenchError(
            f"AUROC: expected scores on both sides and no nan, got {came(low)} and {came(high)}"
        )
    ranks = rankdata(np.concatenate([low, high]))[low.size :]
    return float((ranks.sum() - high.size * (high.size + 1) / 2) / (low.size * high.size))


def auroc_table(scores):
    """AUROC of each variant against its targets' originals: a column per data set, and their plain `mean`.

    `scores`: a score record per row (dataset, list, target, variant, score). `note` names data sets that a
    variant lacks. GeoBenchError for a text scored twice, a missing or nan score, or no edits at all.
    """
    ids = list(KEY)
    pairs = scores[scores["variant"] != "original"].merge(
        scores.loc[scores["variant"] == "original", [*ids, "score"]],
        on=ids,
        how="left",
        suffixes=("", "_original"),
    )
    twice, lost = scores.duplicated([*ids, "variant"]), pairs[["score", "score_original"]].isna().any(axis=1)
    for bad, why in ((scores[twice], "scored twice"), (pairs[lost], "the edit or its original has no score")):
        if len(bad):
            raise GeoBenchError(f"{name_of(bad.iloc[0].to_dict())}: {why}")
    if pairs.empty:
        raise GeoBenchError("AUROC: expected scores of edits, got only originals")
    groups = pairs.groupby(["variant", "dataset"])[["score_original", "score"]]
    table = groups.apply(lambda group: auroc(group["score_original"], group["score"])).unstack()
    note = [
        "" if row.notna().all() else "no edits in " + ", ".join(row.index[row.isna()])
        for _, row in table.iterrows()
    ]
    return table.assign(mean=table.mean(axis=1), note=note).rename_axis(columns=None).reset_index()


def name_of(record: dict) -> str:
    """How messages name a record."""
    parts = [f"{k} {record[k]}" for k in ("target", "variant") if record.get(k) is not None]
    return ", ".join([f"{record.get('dataset')}/{record.get('list')}", *parts])
