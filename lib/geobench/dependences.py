"""What each notebook reads and writes in a run's folder, in one place: which notebooks wait for which, which run side by side, and what
makes one run again.

Patterns are those of pathlib's glob, relative to the folder. What is read from elsewhere (data, prompts, code) is in `digests`.
"""

from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from geobench.attacks import METHODS

CATALOG, EDITS, RANKS, SCORES = "catalog.jsonl", "edits/*.jsonl", "ranks/*/*.jsonl", "scores/*.jsonl"
EMBEDDINGS, CORPUS, GATE = "search/embeddings.npz", ("search/instances.jsonl", "search/training.jsonl"), "search/gate.jsonl"
PUBLIC = tuple(f"search/{name}.jsonl" for name in ("refused", "cleaned", "public_rewrites", "public_training", "public_gate"))
REWRITES, ANSWERS, GRADES = "search/rewrites*.jsonl", ("search/contexts.jsonl", "search/answers/*.jsonl"), "search/grades/*.jsonl"
GUARD, DEFENDED = "search/guard/*", ("search/decisions/*.jsonl", "search/defended/*.jsonl")
DRAWN = ("per_target.csv", *(f"tables/{name}.csv" for name in ("table_02_main", "table_03_spearman", "table_11_per_dataset",
                                                              "table_17_all_contrasts")))  # fmt: skip
SCORED = ("scores.csv", "tables/table_07_calibration.csv")
SHEETS = "search/annotation.*"  # for readers, who fill them in
SHARED = (EMBEDDINGS, GRADES)  # work by content that several notebooks add to: what was made so far changes no result


@dataclass(frozen=True)
class Flow:
    """`reads`: what others make; `writes`: records, and those tables that another reads (all other tables and figures are a notebook's own
    too). `seconds` (smoke, one thread) say what to begin first, `memory` (MiB, smoke, at most) how many fit: no result depends on them."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    seconds: int
    memory: int


def _edits(*groups: str) -> tuple[str, ...]:
    """The edits that a notebook makes: `METHOD.jsonl` and `METHOD__MODEL.jsonl`."""
    methods = [method for method, group in METHODS.items() if group in groups] + ["external"] * ("controls" in groups)
    return tuple(f"edits/{method}{rest}.jsonl" for method in methods for rest in ("", "__*", "@*"))


FLOWS = {
    "01_data": Flow((), (CATALOG,), 5, 500),
    "02_white_box": Flow((CATALOG,), _edits("white_box"), 240, 2200),
    "03_black_box": Flow((CATALOG,), _edits("black_box", "controls"), 60, 2000),
    "04_rewrites": Flow((CATALOG,), _edits("rewrites"), 60, 2000),
    "05_ranking": Flow((CATALOG, EDITS), (RANKS,), 240, 2800),
    "06_detection": Flow((CATALOG, EDITS), (SCORES, *SCORED), 60, 2000),
    "07_statistics": Flow((CATALOG, EDITS, RANKS, SCORES), DRAWN, 10, 500),
    "08_figures": Flow((CATALOG, EDITS, RANKS, SCORES, *DRAWN, *SCORED), (), 10, 500),
    "09_evaluation_ladder": Flow((CATALOG, EDITS, RANKS), ("ladder/*/*.jsonl",), 60, 2000),
    "10_released": Flow((), ("released_per_target.csv",), 10, 500),
    "11_search_data": Flow((), (*CORPUS, *PUBLIC, GATE, REWRITES, EMBEDDINGS), 60, 2000),
    "12_search_answers": Flow((*CORPUS, EMBEDDINGS), (*ANSWERS, GRADES, EMBEDDINGS, SHEETS), 120, 2000),
    "13_guard": Flow(CORPUS, (GUARD,), 120, 2900),
    "14_defences": Flow((*CORPUS, *ANSWERS, GRADES, GUARD, EMBEDDINGS), (*DEFENDED, EMBEDDINGS), 120, 2000),
    "15_search_statistics": Flow(
        (CATALOG, EDITS, *CORPUS, PUBLIC[2], GATE, REWRITES, *ANSWERS, GRADES, GUARD, *DEFENDED, EMBEDDINGS), (GRADES,), 60, 2000
    ),
}


def before(name: str) -> set[str]:
    """The notebooks that a notebook waits for, directly or through others; one that is not in FLOWS waits for all that come before it."""
    if name not in FLOWS:
        return {other for other in FLOWS if other < name}
    wrote = [other for other in FLOWS if other < name and _meet(FLOWS[other].writes, FLOWS[name].reads)]
    return {*wrote, *(first for other in wrote for first in before(other))}


def _meet(written: tuple[str, ...], read: tuple[str, ...]) -> bool:
    """Whether a file can match both; no two patterns here overlap without one holding the other."""
    return any(fnmatch(a, b) or fnmatch(b, a) for a in written for b in read)


def read(name: str, folder: Path) -> list[Path]:
    """The files of a run that determine what a notebook makes."""
    patterns = [pattern for pattern in FLOWS[name].reads if pattern not in SHARED] if name in FLOWS else ["*.jsonl", "*/**/*.jsonl"]
    return [file for pattern in patterns for file in sorted(folder.glob(pattern)) if file.is_file()]


def makes(name: str, file: str) -> bool:
    """Whether a notebook makes this record file of a run (a path relative to its folder)."""
    return name in FLOWS and any(fnmatch(file, pattern) for pattern in FLOWS[name].writes)


def left(name: str, chosen) -> int:
    """Seconds (smoke, one thread) from a notebook's start to the end of the longest chain of chosen notebooks that wait for it."""
    after = [other for other in chosen if name in before(other)]
    return (FLOWS[name].seconds if name in FLOWS else 0) + max((left(other, after) for other in after), default=0)
