"""Sub-scores and Q by hand."""

import math

import pytest

from geobench.search import gate


@pytest.mark.parametrize(
    "cosine,condition,score",
    [
        (0.9, "ip", 1),
        (1.0, "ip", 1),
        (0.75, "ip", 1),
        (0.625, "ip", 0.5),
        (0.5, "ip", 0),
        (0.98, "id", 1),
        (0.99, "id", 0.5),
        (1.0, "id", 0),
        (0.35, "id", 0),
    ],
)
def test_similarity(cosine, condition, score):
    assert gate.similarity_score(cosine, condition) == pytest.approx(score)


@pytest.mark.parametrize("words,score", [(100, 1), (135, 1), (300, 0), (33, 0), (0, 0)])
def test_length(words, score):
    assert gate.length_score(words, 100) == pytest.approx(score, abs=1e-9)
    middle = 100 * math.sqrt(1.35 * 3)
    assert gate.length_score(middle, 100) == pytest.approx(0.5)


@pytest.mark.parametrize("ratio,score", [(0.5, 1), (1.25, 1), (math.sqrt(5), 0.5), (4, 0), (9, 0)])
def test_perplexity(ratio, score):
    assert gate.perplexity_score(20 * ratio, 20) == pytest.approx(score, abs=1e-9)


def test_naturalness():
    assert gate.naturalness_score(3, 1) == 1 and gate.naturalness_score(1, 1) == 1
    assert gate.naturalness_score(0, math.log(3)) == pytest.approx(0.5)  # 2 / (1 + 3)
    assert gate.naturalness_score(-1e9, 0) == pytest.approx(0, abs=1e-9)


def test_quality_is_the_geometric_mean_and_any_zero_makes_it_zero():
    parts = dict(zip(gate.PARTS, (1, 1, 1, 0.65**4)))
    assert gate.quality(parts) == pytest.approx(0.65)
    assert gate.quality(parts | {"length": 0}) == 0
    assert gate.quality(dict.fromkeys(gate.PARTS, 0.5)) == pytest.approx(0.5)


def test_the_reason_names_the_weakest_part():
    parts = dict(zip(gate.PARTS, (0.9, 0.1, 0.8, 0.7)))
    assert gate.reason(parts, 0.65).startswith("length 0.10:")
    assert gate.reason(dict.fromkeys(gate.PARTS, 0.65), 0.649) == ""
