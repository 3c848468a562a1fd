import pytest

from geobench.errors import GeoBenchError
from geobench.sampling import CSEO_DOMAINS, draw, subsample_cseo, subsample_rewrite_to_rank


def rows(n, text="A text.", name="Item"):
    return [(f"{name} {i}", text) for i in range(n)]


def test_draw_keeps_order_and_nests():
    keys = list(range(100))
    draws = [draw(keys, n, 7, "targets") for n in (5, 20)]
    assert [len(d) for d in draws] == [5, 20]
    assert all(d == sorted(d) for d in draws) and set(draws[0]) < set(draws[1])
    assert draw(reversed(keys), 5, 7, "targets") == draws[0][::-1]
    assert draw(keys, 5, 8, "targets") != draws[0]
    assert draw(keys, None, 7) == draw(keys, 1000, 7) == keys


def test_draw_is_fixed_across_machines():
    # `printf '0|lists|tent' | sha256sum` begins with 1d, that of stove with 48, that of lamp with ed
    assert draw(["lamp", "stove", "tent"], 1, 0, "lists") == ["tent"]
    assert draw(["lamp", "stove", "tent"], 2, 0, "lists") == ["stove", "tent"]


def test_draw_is_about_uniform():
    counts = [0] * 8
    for seed in range(800):
        counts[draw(range(8), 1, seed)[0]] += 1
    assert min(counts) > 60 and max(counts) < 140  # 100 expected, standard deviation 9.4


def test_rewrite_to_rank():
    full = {f"Category {i}": rows(10 + i) for i in range(25)} | {"Small": rows(9)}
    full["Repeats"] = rows(9) + [("item  0", "Again."), ("", "No name."), ("No text", " ")]
    chosen = subsample_rewrite_to_rank(full, seed=1)
    assert len(chosen) == 20 and {len(pairs) for pairs in chosen.values()} == {10}
    assert "Small" not in chosen and "Repeats" not in chosen
    for category, pairs in chosen.items():
        assert [pair for pair in full[category] if pair in pairs] == pairs
    assert subsample_rewrite_to_rank(full, seed=1) == chosen
    assert subsample_rewrite_to_rank(full, seed=2) != chosen


def test_rewrite_to_rank_cuts_descriptions():
    full = {"A": rows(10, "x" * 300), "B": rows(10, "y" * 199 + " z" * 50)}
    chosen = subsample_rewrite_to_rank(full, seed=1, categories=2)
    assert {text for _, text in chosen["A"]} == {"x" * 200}
    assert {text for _, text in chosen["B"]} == {"y" * 199}  # no space at the end


def test_rewrite_to_rank_needs_categories():
    with pytest.raises(GeoBenchError, match="expected 20 categories with 10 items or more, got 1"):
        subsample_rewrite_to_rank({"A": rows(10), "B": rows(9)}, seed=1)


def test_cseo():
    full = {domain: rows(15) for domain in CSEO_DOMAINS}
    full["web"] = [("", f"Page {i}.") for i in range(12)]
    chosen = subsample_cseo(full, seed=3)
    assert list(chosen) == list(CSEO_DOMAINS) and {len(pairs) for pairs in chosen.values()} == {10}
    assert [name for name, _ in chosen["web"]] == [f"document{i}" for i in range(1, 11)]
    pages = [text for _, text in full["web"]]
    assert [page for page in pages if page in dict(chosen["web"]).values()] == [
        text for _, text in chosen["web"]
    ]
    assert all(pair in full["books"] for pair in chosen["books"])
    assert subsample_cseo(full, seed=3) == chosen


def test_cseo_needs_every_domain():
    full = {domain: rows(10) for domain in CSEO_DOMAINS if domain != "news"}
    with pytest.raises(GeoBenchError, match="`news`: expected 10 or more items, got 0"):
        subsample_cseo(full, seed=3)
