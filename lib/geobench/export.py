"""Take tables and figures out of a finished run for a paper: `python -m geobench export --to DIR --figures NAME --width 3.3in`."""

import re
import shutil
from pathlib import Path

from geobench.errors import GeoBenchError, came, nearest
from geobench.figures import WIDTH
from geobench.reproduce import folder_of

KINDS = {"figures": ("pdf", "svg", "png"), "tables": ("tex", "csv", "md")}
INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}


def inches(text: str | None) -> float:
    """A width such as 3.3in, 84mm, 8.4cm or 240pt in inches; None: one column."""
    if text is None:
        return WIDTH
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(in|cm|mm|pt)\s*", text)
    size = float(found[1]) * INCHES[found[2]] if found else 0.0
    if not 1 <= size <= 20:
        raise GeoBenchError(f"--width: expected a length from 1in to 20in such as 3.3in, 84mm or 240pt, got {came(text)}")
    return size


def export(run: str, to: str, figures=None, tables=None, kind: str | None = None, width: str | None = None) -> list[Path]:
    """Write the named figures and tables (an empty list: all) to a folder; returns the files. Figures are drawn anew at the width."""
    folder, target = folder_of(run), Path(to)
    if figures is None and tables is None:
        figures, tables = [], []
    if kind is not None and not any(kind in KINDS[what] for what, names in (("figures", figures), ("tables", tables)) if names is not None):
        raise GeoBenchError(f"--format {kind}: figures come as {', '.join(KINDS['figures'])}, tables as {', '.join(KINDS['tables'])}")
    size = inches(width)
    target.mkdir(parents=True, exist_ok=True)
    written = [] if figures is None else _figures(folder, target, figures, kind if kind in KINDS["figures"] else "pdf", size)
    return written + ([] if tables is None else _tables(folder, target, tables, kind if kind in KINDS["tables"] else "tex"))


def _figures(folder: Path, target: Path, names: list[str], kind: str, width: float) -> list[Path]:
    from geobench.figures import write_figure
    from geobench.gallery import draw

    files = []
    for name in names or sorted(f.stem for f in (folder / "figures").glob("*.pdf")):
        files.append(target / f"{name}.{kind}")
        write_figure(draw(name, folder, width), files[-1])
    return files


def _tables(folder: Path, target: Path, names: list[str], kind: str) -> list[Path]:
    known = sorted(f.stem for f in (folder / "tables").glob("*.csv"))
    files = []
    for name in names or known:
        if name not in known:
            raise GeoBenchError(f"no table `{name}` in {folder / 'tables'}.{nearest(name, known)}")
        files.append(Path(shutil.copyfile(folder / "tables" / f"{name}.{kind}", target / f"{name}.{kind}")))
    return files
