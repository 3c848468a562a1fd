"""Figures for one column of a paper: PDF, SVG and PNG of the same bytes for the same data."""

import json
from pathlib import Path

COLOURS = {"white-box": "#0072B2", "black-box": "#D55E00", "white-hat": "#009E73", "control": "#555555", "external": "#CC79A7"}
MARKERS = {"white-box": "s", "black-box": "o", "white-hat": "^", "control": "X", "external": "D"}
WIDTH = 3.4  # inches: one column


def _axes(height: float):
    import matplotlib

    matplotlib.rcParams.update({"font.size": 7, "pdf.fonttype": 42, "svg.hashsalt": "geobench"})
    matplotlib.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots()


def save_figure(figure, folder: Path, name: str, caption: str) -> None:
    """Write `<folder>/<name>.pdf`, `.svg`, `.png` (300 dpi) and `.json` (the caption), without dates."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None, "ModDate": None})
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{name}.png", dpi=300, metadata={"Software": None})
    (folder / f"{name}.json").write_text(json.dumps({"caption": caption}, ensure_ascii=False) + "\n")


def labels(variants) -> list[str]:
    """Short names of variants: the method alone, with its model where one method comes twice."""
    methods = [v.split("__")[0] for v in variants]
    return [(m if methods.count(m) == 1 else v.replace("__", " ")).replace("_", " ") for m, v in zip(methods, variants)]


def _intervals(frame, column: str = "nrg"):
    low, high = frame[f"{column}_lo"], frame[f"{column}_hi"]
    return [(frame[column] - low).clip(lower=0).fillna(0), (high - frame[column]).clip(lower=0).fillna(0)]


def tradeoff(frame):
    """Effectiveness (nrg with nrg_lo, nrg_hi) against judge_auroc, one point per variant, coloured by threat."""
    figure, axes = _axes(3.2)
    for threat, part in frame.groupby("threat"):
        axes.errorbar(
            part["judge_auroc"], part["nrg"], yerr=_intervals(part), fmt=MARKERS[threat], color=COLOURS[threat], ms=4, lw=0.6, label=threat
        )
    _name_points(axes, frame.sort_values(["nrg", "variant"]))
    axes.axhline(0, color="0.7", lw=0.6, zorder=0)
    axes.axvline(0.5, color="0.7", lw=0.6, ls=":", zorder=0)
    axes.set(xlabel="detectability (judge AUROC; 0.5 is chance)", ylabel="effectiveness (NRG)")
    spacing = {"columnspacing": 1, "handletextpad": 0.2}
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=6, frameon=False, **spacing)
    return figure


def _name_points(axes, frame) -> None:
    """Names in a column right of the axes, in the order of the points' heights, with thin leader lines: none can overlap."""
    for n, (row, name) in enumerate(zip(frame.itertuples(), labels(list(frame["variant"])))):
        height = (n + 0.5) / len(frame)
        axes.annotate(
            name, (row.judge_auroc, row.nrg), xytext=(1.03, height), textcoords="axes fraction", fontsize=6, va="center",
            arrowprops={"arrowstyle": "-", "lw": 0.3, "color": "0.6", "shrinkA": 1, "shrinkB": 2, "relpos": (0, 0.5)},
        )


def gain_bars(frame):
    """NRG per variant with intervals, sorted."""
    frame = frame.sort_values(["nrg", "variant"])
    figure, axes = _axes(0.6 + 0.17 * len(frame))
    names, colours = labels(list(frame["variant"])), [COLOURS[t] for t in frame["threat"]]
    bars = {"height": 0.7, "error_kw": {"lw": 0.6}}
    axes.barh(range(len(frame)), frame["nrg"], tick_label=names, xerr=_intervals(frame), color=colours, **bars)
    axes.axvline(0, color="0.3", lw=0.6)
    axes.set(xlabel="NRG (95 % interval)")
    return figure


def before_after(per_target):
    """Median rank before (x) against after (y), one point per target; below the diagonal means moved up."""
    figure, axes = _axes(3.2)
    for threat, part in per_target.assign(threat=per_target["variant"].map(_threat)).groupby("threat"):
        shift = [((n * 37) % 21 - 10) / 60 for n in range(len(part))]
        style = {"s": 6, "marker": MARKERS[threat], "color": COLOURS[threat], "alpha": 0.6, "lw": 0}
        axes.scatter(part["r_before"] + shift, part["r_after"] + shift[::-1], label=threat, **style)
    top = float(max(per_target["r_before"].max(), per_target["r_after"].max())) + 0.5
    axes.plot([0.5, top], [0.5, top], color="0.6", lw=0.6, zorder=0)
    axes.set(xlabel="median rank before", ylabel="median rank after", xlim=(0.5, top), ylim=(0.5, top), aspect="equal")
    axes.legend(fontsize=6, frameon=False)
    return figure


def _threat(variant: str) -> str:
    from geobench.attacks import METHODS, THREAT

    return THREAT.get(METHODS.get(variant.split("__")[0]), "external")
