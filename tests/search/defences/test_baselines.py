import numpy as np
import pytest

from geobench.errors import GeoBenchError
from geobench.search.defences import baselines
from geobench.search.defences.pool import Part

ROWS = [Part(f"n{k}", f"t{k}", s, ("testimonial",), t) for k in range(4)
        for s, t in (("id", f"experts now agree {k}"), ("ip", f"a plain note {k}"), ("control", "experts now agree"))]  # fmt: skip


def test_tfidf_learns_the_words_of_the_attack():
    made = baselines.tfidf(ROWS)
    high, low = made.scores(["experts now agree", "a plain note"])
    assert high > 0 > low
    made.tau = high
    assert [d.blocked() for d in made.decide(["experts now agree", "a plain note"])] == [True, False]
    assert made.scores([]).shape == (0,) and made.identity()["defence"] == "tfidf"


def test_encoder_vectors_under_logistic_regression(tiny_encoder):
    made = baselines.embedded(tiny_encoder(), ROWS)
    assert np.mean(made.scores([r.text for r in ROWS if r.state == "id"])) > np.mean(made.scores([r.text for r in ROWS if r.state == "ip"]))


def test_one_kind_of_chunk_is_refused():
    with pytest.raises(GeoBenchError, match="baseline tfidf: expected ID chunks and clean or IP chunks"):
        baselines.tfidf([r for r in ROWS if r.state != "ip"])
