"""A run's catalog: which lists are ranked and which of their items are targets, drawn once and written down.

`load_dataset` knows the data sets written for this project (data/embedded/ranking) and the public ones
(`sources`). The lists themselves are in `lists`, whose names are given here too.
"""

import glob
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from geobench import paths, sources
from geobench.errors import GeoBenchError, came, nearest
from geobench.lists import Item, RankList, make_list, noun_of, read_list_file, read_rows
from geobench.sampling import draw
from geobench.yaml_values import read_mapping

__all__ = [
    "Item",
    "RankList",
    "Selected",
    "available_datasets",
    "catalog_sha",
    "load_dataset",
    "load_embedded",
    "make_list",
    "noun_of",
    "read_catalog",
    "read_list_file",
    "select",
    "write_catalog",
]


@dataclass(frozen=True)
class Selected:
    """A list and its targets: sorted, 1-based item indices."""

    list: RankList
    targets: tuple[int, ...]


def load_embedded(root: Path | None = None, only: str = "*") -> dict[str, list[RankList]]:
    """Data sets in root/<dataset>/<list>.jsonl, in alphabetical order; `only` one of them, whatever is wrong with the others.

    root/nouns.yaml maps "<dataset>/<list>" to a query noun; a list without one takes `noun_of`, and a noun
    without a list raises GeoBenchError.
    """
    root = Path(root or paths.EMBEDDED)
    table = root / "nouns.yaml"
    nouns = read_mapping(table) if table.exists() else {}
    nouns = {key: noun for key, noun in nouns.items() if only in ("*", key.split("/")[0])}
    found: dict[str, list[RankList]] = {}
    for file in sorted(root.glob(f"{'*' if only == '*' else glob.escape(only)}/*.jsonl"), key=lambda file: (file.parent.name, file.stem)):
        dataset = file.parent.name
        lst = read_list_file(file, dataset, nouns.pop(f"{dataset}/{file.stem}", None))
        found.setdefault(dataset, []).append(lst)
    if nouns:
        raise GeoBenchError(f"{table}: no list is called {came(next(iter(nouns)))}.")
    return found


def available_datasets() -> list[str]:
    """Names that `load_dataset` knows: embedded ones first, then the public ones of data/sources.yaml."""
    embedded = {file.parent.name for file in paths.EMBEDDED.glob("*/*.jsonl")}
    return sorted(embedded) + [name for name in sources.public_datasets() if name not in embedded]


def load_dataset(name: str) -> list[RankList]:
    """All lists of one data set, embedded or public.

    Raises GeoBenchError for an unknown name (with the nearest known one) and for public files not to be had.
    """
    known = available_datasets()
    if name not in known:
        raise GeoBenchError(f"unknown data set {came(name)}.{nearest(name, known)}")
    if (paths.EMBEDDED / name).is_dir():
        return load_embedded(only=name)[name]
    return sources.load_public(name)


def select(
    datasets: Sequence[str], lists_per_dataset: int | None, targets_per_list: int | None, seed: int, target_rule: str = "drawn"
) -> list[Selected]:
    """Lists and targets of a run, drawn per data set and per list; None or too large a number means all.

    target_rule "first" takes the first item of each list (the first paper's protocol).
    """
    for label, n in (("lists_per_dataset", lists_per_dataset), ("targets_per_list", targets_per_list)):
        if n is not None and n < 1:
            raise GeoBenchError(f"{label}: expected a number from 1, or null for all, got {came(n)}.")
    if isinstance(datasets, str) or not datasets or len(set(datasets)) < len(datasets):
        raise GeoBenchError(f"datasets: expected a list of different names, got {came(datasets)}.")
    chosen = []
    for dataset in datasets:
        lists = {lst.name: lst for lst in load_dataset(dataset)}
        for name in draw(lists, lists_per_dataset, seed, "lists", dataset):
            lst = lists[name]
            targets = [1] if target_rule == "first" else draw(range(1, len(lst) + 1), targets_per_list, seed, "targets", lst.key)
            chosen.append(Selected(lst, tuple(targets)))
    return chosen


def write_catalog(path: Path, selected: Iterable[Selected]) -> None:
    """Write catalog.jsonl, one list per line with its noun, items and targets; whole or not at all."""
    rows = [{**_content(one.list), "targets": list(one.targets)} for one in selected]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    partial = Path(f"{path}.partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.write_text(text, "utf-8", newline="\n")
    os.replace(partial, path)


def read_catalog(path: Path) -> list[Selected]:
    """Lists and targets of a catalog.jsonl; raises GeoBenchError for a torn line or a target outside 1..L."""
    selected = []
    for number, row in enumerate(read_rows(path), 1):
        try:
            pairs = [(item["name"], item["description"]) for item in row["items"]]
            lst = make_list(row["dataset"], row["list"], row["noun"], pairs, strict=False)
            targets = tuple(row["targets"])
        except (KeyError, TypeError):
            keys = "dataset, list, noun, items and targets"
            got = came(json.dumps(row, ensure_ascii=False))
            raise GeoBenchError(f"{path}, list {number}: expected {keys}, got {got}.") from None
        if bad := [target for target in targets if target not in range(1, len(lst) + 1)]:
            raise GeoBenchError(f"{path}: `{lst.key}` has items 1 to {len(lst)}, got target {came(bad[0])}.")
        selected.append(Selected(lst, targets))
    return selected


def catalog_sha(selected: Iterable[Selected]) -> str:
    """SHA-256 of the lists' content (data set, name, noun, items), whatever their order and their targets."""
    contents = sorted(json.dumps(_content(one.list), sort_keys=True) for one in selected)
    return sha256("\n".join(contents).encode()).hexdigest()


def _content(lst: RankList) -> dict:
    items = [{"name": item.name, "description": item.description} for item in lst.items]
    return {"dataset": lst.dataset, "list": lst.name, "noun": lst.noun, "items": items}
