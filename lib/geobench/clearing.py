"""What `--force` removes: the files that the chosen notebooks make, by the names that `dependences` knows, and nothing else.

A run's folder also holds what people put there, such as readers' `labels_NAME.csv`; a file that no notebook makes is left alone.
"""

import shutil
from pathlib import Path

from geobench.dependences import FLOWS, SHEETS
from geobench.editing import CHECKPOINTS


def clear(folder: Path, notebooks: list[str]) -> None:
    """Remove the records of these notebooks from a run's folder; work that several add to goes with the first that does."""
    for name in notebooks:
        for pattern in FLOWS[name].writes if name in FLOWS else ():
            if pattern != SHEETS and name == next(n for n, flow in FLOWS.items() if pattern in flow.writes):
                for made in [*folder.glob(pattern)]:
                    shutil.rmtree(made) if made.is_dir() else made.unlink()
                    shutil.rmtree(made.parent / CHECKPOINTS / made.stem, ignore_errors=True)
