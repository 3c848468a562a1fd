"""What `--force` removes: the records that the chosen notebooks make, by the names that they give them, and nothing else.

A run's folder also holds what people put there, such as readers' `labels_NAME.csv`; a file that no notebook makes is left alone.
"""

import shutil
from pathlib import Path

from geobench.attacks import METHODS
from geobench.editing import CHECKPOINTS

GROUPS = {"02_white_box": ("white_box",), "03_black_box": ("black_box", "controls", "external"), "04_rewrites": ("rewrites",)}
PUBLIC = ("refused", "cleaned", "training", "public_rewrites", "public_training", "public_gate")  # of `search_corpus: geo_bench`
MADE = {
    "05_ranking": ("ranks/*/*.jsonl",),
    "06_detection": ("scores/*.jsonl",),
    "09_evaluation_ladder": ("ladder/*/*.jsonl",),
    "11_search_data": ("search/embeddings.npz", *(f"search/{n}.jsonl" for n in ("instances", "gate", "rewrites", "rewrites_*", *PUBLIC))),
    "12_search_answers": ("search/contexts.jsonl", "search/answers/*.jsonl", "search/grades/*.jsonl"),
    "13_guard": ("search/guard",),
    "14_defences": ("search/decisions/*.jsonl", "search/defended/*.jsonl"),
}


def clear(folder: Path, notebooks: list[str]) -> None:
    """Remove the records of these notebooks from a run's folder."""
    for name in notebooks:
        for file in sorted(folder.glob("edits/*.jsonl")) if name in GROUPS else ():
            if METHODS.get(method := file.stem.split("__")[0], method) in GROUPS[name]:
                file.unlink()
                shutil.rmtree(file.parent / CHECKPOINTS / file.stem, ignore_errors=True)
        for made in [path for pattern in MADE.get(name, ()) for path in folder.glob(pattern)]:
            shutil.rmtree(made) if made.is_dir() else made.unlink()
