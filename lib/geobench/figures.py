"""Figures of effectiveness, for one column of a paper: PDF, SVG and PNG, the same bytes for the same data; see also `figure_panels`."""

import json
from pathlib import Path

from geobench.variants import ORDER, threat_of

COLOURS = {"white-box": "#0072B2", "black-box": "#D55E00", "white-hat": "#009E73", "control": "#555555", "external": "#CC79A7"}
MARKERS = {"white-box": "s", "black-box": "o", "white-hat": "^", "control": "X", "external": "D"}
WIDTH = 3.4  # inches: one column
STYLE: dict = {
    "font.size": 7, "pdf.fonttype": 42, "ps.fonttype": 42, "svg.hashsalt": "geobench", "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip


def axes_of(height: float, width: float = WIDTH, columns: int = 1):
    """(figure, axes) in the style of all figures; inches."""
    import matplotlib

    matplotlib.rcParams.update(STYLE)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns)


def write_figure(figure, path: Path) -> None:
    """Write one file without dates; 300 dpi where it is pixels."""
    stamp = {"pdf": {"CreationDate": None, "ModDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
    kind = path.suffix.lstrip(".")
    figure.savefig(path, metadata=stamp[kind], dpi=300)


def save_figure(figure, folder: Path, name: str, caption: str) -> None:
    """Write `<folder>/<name>.pdf`, `.svg`, `.png` (300 dpi) and `.json` (the caption), without dates."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("pdf", "svg", "png"):
        write_figure(figure, folder / f"{name}.{kind}")
    (folder / f"{name}.json").write_text(json.dumps({"caption": caption}, ensure_ascii=False) + "\n")


def labels(variants) -> list[str]:
    """Short names of variants: the method alone, with its model where one method comes twice."""
    methods = [v.split("__")[0] for v in variants]  # with its @knowledge
    return [(m if methods.count(m) == 1 else v.replace("__", " ")).replace("_", " ") for m, v in zip(methods, variants)]


def _intervals(frame, column: str = "nrg"):
    low, high = frame[f"{column}_lo"], frame[f"{column}_hi"]
    return [(frame[column] - low).clip(lower=0).fillna(0), (high - frame[column]).clip(lower=0).fillna(0)]


def tradeoff(frame, width: float = WIDTH):
    """Effectiveness (nrg with nrg_lo, nrg_hi) against judge_auroc (with _lo, _hi where there), one point per variant."""
    figure, axes = axes_of(3.4, width)
    frame = frame.dropna(subset=["judge_auroc"])
    for threat, part in frame.groupby("threat"):
        across = _intervals(part, "judge_auroc") if "judge_auroc_lo" in part else None
        axes.errorbar(
            part["judge_auroc"], part["nrg"], yerr=_intervals(part), xerr=across, fmt=MARKERS[threat], color=COLOURS[threat], ms=4, lw=0.5,
            label=threat, alpha=0.85,
        )  # fmt: skip
    _name_points(axes, frame.sort_values(["nrg", "variant"]), "judge_auroc")
    axes.axhline(0, color="0.7", lw=0.6, zorder=0)
    axes.axvline(0.5, color="0.7", lw=0.6, ls=":", zorder=0)
    axes.set(xlabel="detectability\n(judge AUROC; 0.5 is chance)", ylabel="effectiveness (NRG)")
    _legend_below(figure, axes)
    return figure


def tradeoff_v1(frame, width: float = WIDTH):
    """Effectiveness (nrg) against kvr, the marker's area growing with ppl_ratio: the first paper's view of the same trade."""
    figure, axes = axes_of(3.4, width)
    frame = frame.dropna(subset=["kvr"])
    ratio = frame["ppl_ratio"].clip(0.2, 20) if "ppl_ratio" in frame else frame["kvr"] * 0 + 1
    for threat, part in frame.groupby("threat"):
        axes.scatter(
            part["kvr"],
            part["nrg"],
            s=8 + 14 * ratio[part.index],
            marker=MARKERS[threat],
            color=COLOURS[threat],
            alpha=0.6,
            lw=0,
            label=threat,
        )
    _name_points(axes, frame.sort_values(["nrg", "variant"]), "kvr")
    axes.axhline(0, color="0.7", lw=0.6, zorder=0)
    axes.set(xlabel="keyword violation rate\n(marker area: perplexity ratio)", ylabel="effectiveness (NRG)", xlim=(-0.05, 1.05))
    _legend_below(figure, axes)
    return figure


def _legend_below(figure, axes) -> None:
    """Threat models in their usual order, with markers of one size."""
    found = dict(zip(*reversed(axes.get_legend_handles_labels())))
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], ls="", marker=MARKERS[t], color=COLOURS[t], ms=4, label=t) for t in ORDER if t in found]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=6, frameon=False, columnspacing=1, handletextpad=0.2)


def _name_points(axes, frame, x: str) -> None:
    """Names in a column right of the axes, in the order of the points' heights, with thin leader lines: none can overlap."""
    for n, (row, name) in enumerate(zip(frame.to_dict("records"), labels(list(frame["variant"])))):
        height = (n + 0.5) / len(frame)
        axes.annotate(
            name, (row[x], row["nrg"]), xytext=(1.03, height), textcoords="axes fraction", fontsize=6, va="center",
            arrowprops={"arrowstyle": "-", "lw": 0.3, "color": "0.6", "shrinkA": 1, "shrinkB": 2, "relpos": (0, 0.5)},
        )  # fmt: skip


def gain_bars(frame, width: float = WIDTH):
    """NRG per variant with intervals, sorted."""
    frame = frame.sort_values(["nrg", "variant"])
    figure, axes = axes_of(0.6 + 0.17 * len(frame), width)
    colours = [COLOURS[t] for t in frame["threat"]]
    names = labels(list(frame["variant"]))
    axes.barh(range(len(frame)), frame["nrg"], tick_label=names, xerr=_intervals(frame), color=colours, height=0.7, error_kw={"lw": 0.6})
    axes.axvline(0, color="0.3", lw=0.6)
    axes.set(xlabel="NRG (95 % interval)")
    return figure


def before_after(per_target, width: float = WIDTH):
    """Median rank before (x) against after (y), one point per target; below the diagonal means moved up."""
    figure, axes = axes_of(3.2, width)
    for threat, part in per_target.assign(threat=per_target["variant"].map(threat_of)).groupby("threat"):
        shift = [((n * 37) % 21 - 10) / 60 for n in range(len(part))]
        colour = COLOURS[threat]
        axes.scatter(
            part["r_before"] + shift,
            part["r_after"] + shift[::-1],
            s=6,
            marker=MARKERS[threat],
            color=colour,
            alpha=0.6,
            lw=0,
            label=threat,
        )
    top = float(max(per_target["r_before"].max(), per_target["r_after"].max())) + 0.5
    axes.plot([0.5, top], [0.5, top], color="0.6", lw=0.6, zorder=0)
    axes.set(xlabel="median rank before", ylabel="median rank after", xlim=(0.5, top), ylim=(0.5, top), aspect="equal")
    axes.annotate("moved up", (0.98, 0.01), xycoords="axes fraction", ha="right", fontsize=6, color="0.4")
    _legend_below(figure, axes)
    return figure
