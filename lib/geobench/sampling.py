"""Seeded draws, and the construction rules of the two data sets that are samples of larger ones.

A draw orders keys by a SHA-256 of seed and key instead of asking a random generator: it does not depend on
what else is loaded, and a larger draw contains every smaller one, so that a run with more targets reuses the
work of one with fewer. The released samples were drawn in another way; these are new ones from full sources.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from geobench.errors import GeoBenchError
from geobench.lists import one_line

CSEO_DOMAINS = ("books", "debate", "news", "retail", "videogames", "web")
DOCUMENT_DOMAINS = ("debate", "news", "web")  # their texts have no titles

Pairs = list[tuple[str, str]]  # (name, description)


def draw(keys: Iterable, n: int | None, *seed: object) -> list:
    """`n` different keys in the order they came in; None or too large an `n` takes all."""
    place = {key: sha256("|".join(map(str, (*seed, key))).encode()).hexdigest() for key in keys}
    kept = set(sorted(place, key=place.__getitem__)[:n])
    return [key for key in place if key in kept]


def subsample_rewrite_to_rank(
    rows_by_category: Mapping[str, Pairs],
    seed: int,
    categories: int = 20,
    items: int = 10,
    characters: int = 200,
) -> dict[str, Pairs]:
    """RewriteToRank: `categories` of those with `items` items or more, `items` of each, descriptions cut.

    Rows without a name or a description and repeated names do not count. The release ends a text that it cut
    with a full stop of its own, character 201; this does not. Raises GeoBenchError where too few categories
    are large enough.
    """
    usable = {category: _usable(rows) for category, rows in rows_by_category.items()}
    large = [category for category, rows in usable.items() if len(rows) >= items]
    if len(large) < categories:
        raise GeoBenchError(
            f"RewriteToRank: expected {categories} categories with {items} items or more, got {len(large)}."
        )
    chosen = {}
    for category in draw(large, categories, seed, "rewrite_to_rank"):
        rows = usable[category]
        names = draw(rows, items, seed, "rewrite_to_rank", category)
        chosen[category] = [(name, rows[name][:characters].rstrip()) for name in names]
    return chosen


def subsample_cseo(rows_by_domain: Mapping[str, Pairs], seed: int, items: int = 10) -> dict[str, Pairs]:
    """C-SEO Bench: `items` items from each of the six domains.

    The texts of debate, news and web are called document1, document2, ... in source order, whatever
    they were called there. Raises GeoBenchError where a domain is missing or has too few items.
    """
    chosen = {}
    for domain in CSEO_DOMAINS:
        untitled = domain in DOCUMENT_DOMAINS
        rows = rows_by_domain.get(domain, [])
        usable = _usable([(str(i), text) for i, (_, text) in enumerate(rows)] if untitled else rows)
        if len(usable) < items:
            raise GeoBenchError(f"C-SEO `{domain}`: expected {items} or more items, got {len(usable)}.")
        names = draw(usable, items, seed, "cseo", domain)
        chosen[domain] = [
            (f"document{i}" if untitled else name, usable[name]) for i, name in enumerate(names, 1)
        ]
    return chosen


def _usable(rows: Pairs) -> dict[str, str]:
    """First description of each name; rows without a name or a description are left out."""
    kept: dict[str, tuple[str, str]] = {}
    for name, text in rows:
        if one_line(name) and str(text).strip():
            kept.setdefault(one_line(name).casefold(), (one_line(name), str(text).strip()))
    return dict(kept.values())
