"""Seeded draws: keys are ordered by a SHA-256 of seed and key, not by a random generator.

So a draw does not depend on what else is loaded, and a larger one contains every smaller one: a run with more targets reuses the work of
one with fewer.
"""

from collections.abc import Iterable
from hashlib import sha256


def draw(keys: Iterable, n: int | None, *seed: object) -> list:
    """`n` different keys in the order they came in; None or too large an `n` takes all."""
    place = {key: sha256("|".join(map(str, (*seed, key))).encode()).hexdigest() for key in keys}
    kept = set(sorted(place, key=place.__getitem__)[:n])
    return [key for key in place if key in kept]
