"""Where things are: found from the working directory or from this file, never from a caller's notebook folder."""

import os
from pathlib import Path


def _root() -> Path:
    """The checkout: GEOBENCH_ROOT, else the nearest parent of this file or of the working directory with `params/base.yaml`."""
    if os.environ.get("GEOBENCH_ROOT"):
        return Path(os.environ["GEOBENCH_ROOT"]).resolve()
    for start in (Path(__file__).resolve(), Path.cwd() / "x"):
        for folder in start.parents:
            if (folder / "params" / "base.yaml").exists():
                return folder
    return Path.cwd()


ROOT = _root()
PARAMS = ROOT / "params"
NOTEBOOKS = ROOT / "notebooks"
EMBEDDED = ROOT / "data" / "embedded" / "ranking"
SOURCES = ROOT / "data" / "sources.yaml"
RESULTS = Path(os.environ.get("GEOBENCH_RESULTS", ROOT / "results"))
CACHE = Path(os.environ.get("GEOBENCH_CACHE", Path.home() / ".cache" / "geobench"))


def mirror() -> Path | None:
    """Folder that holds `catalogs/` (GEOBENCH_DATA_MIRROR), or None."""
    folder = os.environ.get("GEOBENCH_DATA_MIRROR")
    return Path(folder) if folder else None
