import numpy as np
import pytest
from tests.search.defences.conftest import triple

from geobench.errors import GeoBenchError
from geobench.search.corpus import load_triples
from geobench.search.defences import pool


def test_the_embedded_training_part_is_sound():
    triples = load_triples()
    pool.check_triples(triples)
    assert len(triples) >= 60 and len({category for one in triples for category in one.categories}) >= 5


def test_bad_training_parts_are_named():
    with pytest.raises(GeoBenchError, match="two categories or more, got testimonial"):
        pool.check_triples([triple("aloe", ("testimonial",)), triple("basil", ("testimonial",))])
    with pytest.raises(GeoBenchError, match="`aloe`: the IP text equals the clean text"):
        pool.check_triples([triple("aloe", clean="Water it  rarely.", ip="Water it rarely.")])
    odd = triple("aloe").model_copy(update={"categories": ["hearsay"]})
    with pytest.raises(GeoBenchError, match="`aloe`: unknown attack category `hearsay`"):
        pool.check_triples([odd])


def test_no_topic_is_on_both_sides(triples):
    seen, held = pool.split(triples, 0.34, 0)
    assert len(held) == 2 and not {t.topic for t in seen} & {t.topic for t in held}
    assert [t.name for t in pool.split(triples, 0.34, 0)[1]] == [t.name for t in held]
    left = [t.name for _, out in pool.folds(triples, 3, 0) for t in out]
    assert sorted(left) == sorted(t.name for t in triples)
    assert all(not {t.topic for t in a} & {t.topic for t in b} for a, b in pool.folds(triples, 3, 0))


def test_an_id_text_that_hardly_differs_is_borderline():
    vectors = {"near clean": (1, 0), "near id": (0.99, np.sqrt(1 - 0.99**2)), "far clean": (1, 0), "far id": (0.97, np.sqrt(1 - 0.97**2))}
    made = [triple(n, clean=f"{n} clean", id=f"{n} id") for n in ("near", "far")]
    assert pool.borderline(made, lambda texts: np.array([vectors[t] for t in texts])) == {"near"}


def test_every_state_is_cut_into_chunks(triples, tiny_encoder):
    rows = pool.parts(triples[:1], tiny_encoder().tokenizer, 8, 2, ("clean", "id"))
    assert [r.state for r in rows].count("id") >= 2 and {r.labels for r in rows} == {("false_citation",)}
    assert rows[0].text.startswith("The aloe") and rows[0].topic == "topic of aloe"
