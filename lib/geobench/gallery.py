"""Every figure by name, drawn from a finished run's files: for notebook 08 and for `python -m geobench export`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from geobench import figure_panels, figures
from geobench.errors import GeoBenchError
from geobench.inventory import FIGURES, caption
from geobench.reproduce import read_params
from geobench.tables import read_table


def _csv(folder: Path, name: str, what: str, **options):
    file = Path(folder) / name
    if not file.exists():
        maker = "06_detection" if Path(name).stem in ("scores", "table_07_calibration") else "07_statistics"
        raise GeoBenchError(f"{what}: no {file}; run notebook {maker} first")
    return read_table(file, **options)


def _ranked(folder: Path, what: str):
    """The main ranker's per-target rows."""
    targets = _csv(folder, "per_target.csv", what)
    main = read_params(folder).get("main_ranker")
    return targets[targets["ranker"] == main] if main in set(targets["ranker"]) else targets


SOURCES: dict[str, tuple[Callable, Callable]] = {  # name -> (drawing, how it finds its data)
    "fig_tradeoff": (figures.tradeoff, partial(_csv, name="tables/table_02_main.csv")),
    "fig_tradeoff_v1": (figures.tradeoff_v1, partial(_csv, name="tables/table_02_main.csv")),
    "fig_gain": (figures.gain_bars, partial(_csv, name="tables/table_02_main.csv")),
    "fig_gain_datasets": (figure_panels.gain_datasets, partial(_csv, name="tables/table_11_per_dataset.csv")),
    "fig_before_after": (figures.before_after, _ranked),
    "fig_roc": (figure_panels.roc, partial(_csv, name="scores.csv")),
    "fig_calibration": (figure_panels.calibration, partial(_csv, name="tables/table_07_calibration.csv")),
    "fig_spearman": (figure_panels.spearman_map, partial(_csv, name="tables/table_03_spearman.csv", index_col=0)),
    "fig_contrasts": (figure_panels.contrast_matrix, partial(_csv, name="tables/table_17_all_contrasts.csv")),
}


def draw(name: str, folder: Path, width: float = figures.WIDTH):
    """The figure, from the run's files; GeoBenchError for an unknown name or data that is not there yet. width: inches."""
    caption(name)
    drawing, data = SOURCES[name]
    frame = data(folder, what=name)
    if frame.empty:
        raise GeoBenchError(f"{name}: nothing to draw, its table has no rows")
    return drawing(frame, width)


def draw_all(folder: Path) -> list[str]:
    """Write every figure of a run into its `figures/`; returns their names, without those whose table has no rows."""
    params = read_params(folder)
    made = params.get("inference", "t"), params.get("multiplicity")
    names = [name for name in FIGURES if not SOURCES[name][1](folder, what=name).empty]
    for name in names:
        figures.save_figure(draw(name, folder), Path(folder) / "figures", name, caption(name, *made))
    return names
