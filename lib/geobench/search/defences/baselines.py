"""Baselines beside the guard: TF-IDF and MiniLM features under logistic regression (frozen prototypes are an untrained `Guard`)."""

import numpy as np

from geobench.errors import GeoBenchError
from geobench.search.defences.base import Decision, by_score
from geobench.search.defences.guard import batch_embed
from geobench.search.defences.pool import Part

C = 10.0  # inverse regularisation of both


class Classifier:
    """Logistic regression on features of a text; score = log-odds of ID against clean and IP. The caller sets `tau`."""

    def __init__(self, name: str, features, seed: int = 0):
        from sklearn.linear_model import LogisticRegression

        self.name, self.features, self.tau = name, features, 0.0
        self.model = LogisticRegression(C=C, class_weight="balanced", max_iter=2000, random_state=seed)

    def identity(self) -> dict:
        return {"defence": self.name, "tau": self.tau, "C": C, "coefficients": float(np.abs(self.model.coef_).sum())}

    def fit(self, rows: list[Part]) -> "Classifier":
        """Learn from training chunks in the states clean, ip and id; control chunks are ignored."""
        used = [r for r in rows if r.state != "control"]
        labels = [r.state == "id" for r in used]
        if len(set(labels)) < 2:
            raise GeoBenchError(f"baseline {self.name}: expected ID chunks and clean or IP chunks, got one kind")
        self.model.fit(self.features([r.text for r in used], True), labels)
        return self

    def scores(self, texts: list[str]) -> np.ndarray:
        """[texts] log-odds of ID."""
        return self.model.decision_function(self.features(texts, False)) if texts else np.zeros(0)

    def decide(self, texts: list[str], documents: list[int] | None = None) -> list[Decision]:
        return [by_score(float(s), self.tau) for s in self.scores(texts)]


class Tfidf:
    """Word uni- and bigrams, sublinear counts; learns its vocabulary when fitted."""

    def __init__(self):
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.vectoriser = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)

    def __call__(self, texts: list[str], learn: bool):
        return self.vectoriser.fit_transform(texts) if learn else self.vectoriser.transform(texts)


def tfidf(rows: list[Part], seed: int = 0) -> Classifier:
    """TF-IDF with logistic regression."""
    return Classifier("tfidf", Tfidf(), seed).fit(rows)


def embedded(model, rows: list[Part], seed: int = 0, batch_size: int = 32) -> Classifier:
    """Frozen encoder vectors with logistic regression."""
    return Classifier("encoder_lr", lambda texts, _: batch_embed(model, texts, batch_size), seed).fit(rows)
