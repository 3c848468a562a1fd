"""Trained detector: logistic regression on sentence embeddings, scored out of list.

Every list is scored by a model that has seen no text of it, neither originals nor edits (leave one list out), so that no score
rewards a memory of the product. Texts of all variants train together, classes balanced. Score: log-odds of "edited".
"""

import numpy as np

from geobench.errors import GeoBenchError

REGULARISATION = 1.0


def identity(engine) -> dict:
    """What determines the trained detector's scores."""
    return {**engine.identity(), "detector": "trained", "classifier": "logistic regression", "C": REGULARISATION, "left_out": "list"}


def out_of_list_scores(embeddings, edited, lists) -> np.ndarray:
    """[texts] log-odds. embeddings: texts x width; edited: [texts] of bool; lists: [texts], a list's name with its data set.

    GeoBenchError for fewer than two lists, or where the other lists hold one class only.
    """
    from sklearn.linear_model import LogisticRegression

    embeddings, edited, lists = np.asarray(embeddings, float), np.asarray(edited, bool), np.asarray(lists)
    names = list(dict.fromkeys(lists))
    if len(names) < 2:
        raise GeoBenchError(f"trained detector: expected two lists or more to leave one out, got {', '.join(names)}")
    scores = np.empty(len(lists))
    for name in names:
        out = lists == name
        if len(set(edited[~out])) < 2:
            raise GeoBenchError(f"trained detector: without {name}, expected originals and edits to learn from, got one class")
        model = LogisticRegression(C=REGULARISATION, class_weight="balanced", max_iter=1000)
        scores[out] = model.fit(embeddings[~out], edited[~out]).decision_function(embeddings[out])
    return scores
