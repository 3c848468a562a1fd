"""What is known of the data sets that released records name: which lists they have, and how long these are."""

from functools import cache

from geobench import paths
from geobench.errors import GeoBenchError, nearest

LENGTH = {"ragroll": 8, "stsdata": 10, "llm_rank_optimizer": 10, "rewrite_to_rank": 10, "cseo": 10}  # items of the longest list


@cache
def lengths() -> dict[str, int]:
    """Items of the longest list of every known data set."""
    from geobench.catalog import load_embedded

    return LENGTH | {name: max(map(len, lists)) for name, lists in load_embedded().items()}


@cache
def lists() -> dict[str, set[str]]:
    """The lists of every known data set."""
    from geobench.sources import public_datasets

    known = {name: set(source.files) for name, source in public_datasets().items()}
    for file in paths.EMBEDDED.glob("*/*.jsonl"):
        known.setdefault(file.parent.name, set()).add(file.stem)
    return known


def require_list(dataset: str, lst: str, where: str) -> None:
    """GeoBenchError for a list that a known data set does not have; other data sets are taken at their word."""
    if (known := lists().get(dataset)) and lst not in known:
        raise GeoBenchError(f"{where}: `{dataset}` has no list `{lst}`.{nearest(lst, known)}")


def dataset_of(lst) -> str | None:
    """The one public data set that has a list of this name."""
    from geobench.sources import public_datasets

    have = [name for name, source in public_datasets().items() if lst in source.files]
    return have[0] if len(have) == 1 else None
