"""Figures of detection and agreement: gain per data set, ROC at low rates, calibration transfer, Spearman and contrast matrices."""

import numpy as np

from geobench.figures import WIDTH, axes_of, labels

SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#F0E442")  # Okabe and Ito
DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (5, 1)), "-", "--")
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")


def gain_datasets(frame, width: float = WIDTH):
    """NRG with intervals per variant, one mark per data set (dataset, variant, nrg, nrg_lo, nrg_hi); no bar where no interval."""
    variants = list(frame.groupby("variant")["nrg"].mean().sort_values(kind="stable").index)
    datasets = sorted(frame["dataset"].unique())
    figure, axes = axes_of(0.9 + 0.2 * len(variants), width)
    offsets = np.linspace(-0.3, 0.3, len(datasets)) if len(datasets) > 1 else [0]
    for n, (dataset, offset) in enumerate(zip(datasets, offsets)):
        part = frame[frame["dataset"] == dataset].set_index("variant").reindex(variants)
        bars = [(part["nrg"] - part["nrg_lo"]).clip(lower=0).fillna(0), (part["nrg_hi"] - part["nrg"]).clip(lower=0).fillna(0)]
        height = np.arange(len(variants)) + offset
        axes.errorbar(part["nrg"], height, xerr=bars, fmt=SHAPES[n % 8], ms=2.5, lw=0.6, color=SERIES[n % 8], label=dataset)
    axes.set_yticks(range(len(variants)), labels(variants))
    axes.set_ylim(-0.7, len(variants) - 0.3)
    axes.axvline(0, color="0.5", lw=0.6, zorder=0)
    axes.set(xlabel="NRG (95 % interval)")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=6, frameon=False)
    return figure


def roc(wide, width: float = WIDTH, top: float = 0.3):
    """Share of edits flagged at false-positive rates up to `top`, per detector (thresholds set on equal data sets)."""
    from geobench.detection_tables import roc_points

    figure, axes = axes_of(2.6, width)
    rates = np.linspace(0, top, 61)
    for n, detector in enumerate(d for d in ("judge", "trained", "perplexity", "keyword") if d in wide):
        axes.step(rates, roc_points(wide, detector, rates), where="post", color=SERIES[n], ls=DASHES[n], lw=1.1, label=detector)
    axes.plot(rates, rates, color="0.5", lw=0.6, ls=":")
    axes.set(xlabel="false-positive rate (originals flagged)", ylabel="edits flagged", xlim=(0, top), ylim=(0, 1))
    axes.legend(fontsize=6, frameon=False, loc="upper left")
    return figure


def calibration(table, width: float = WIDTH):
    """Realised rate per data set (columns between `realised` and `note`), one panel row per detector, one mark per calibration."""
    columns = list(table.columns)
    datasets = columns[columns.index("realised") + 1 : columns.index("note")]
    detectors, calibrations = list(dict.fromkeys(table["detector"])), list(dict.fromkeys(table["calibration"]))
    figure, panels = axes_of(1.3 + 0.16 * len(datasets), width, len(detectors))
    for axes, detector in zip(np.atleast_1d(panels), detectors):
        for n, kind in enumerate(calibrations):
            row = table[(table["detector"] == detector) & (table["calibration"] == kind)].iloc[0]
            place = np.arange(len(datasets)) + (n - 1) * 0.22
            axes.plot([row[d] for d in datasets], place, ls="", marker=SHAPES[n], ms=3, color=SERIES[n], label=kind)
        axes.axvline(float(table["rate"].iloc[0]), color="0.4", lw=0.6)
        axes.set_yticks(range(len(datasets)), datasets if axes is np.atleast_1d(panels)[0] else [""] * len(datasets))
        axes.set(title=detector, xlim=(-0.03, None), ylim=(-0.5, len(datasets) - 0.5))
        axes.title.set_size(7)
    middle = np.atleast_1d(panels)[len(detectors) // 2]
    middle.set_xlabel("realised false-positive rate (line: asked for)")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=6, frameon=False, handletextpad=0.1)
    return figure


def spearman_map(square, width: float = WIDTH):
    """Heat map of a square table of correlations, from -1 to 1, each cell with its value; n/a where not defined."""
    names = [str(n) for n in square.index]
    figure, axes = axes_of(0.9 + 0.23 * len(names), width)
    values = square.to_numpy(float)
    image = axes.imshow(values, vmin=-1, vmax=1, cmap="PuOr_r", aspect="auto")
    for i in range(len(names)):
        for j in range(len(names)):
            text = "n/a" if np.isnan(values[i, j]) else f"{values[i, j]:.2f}"
            axes.text(j, i, text, ha="center", va="center", fontsize=6, color="white" if abs(values[i, j]) > 0.7 else "black")
    _numbered(axes, names, 6)
    figure.colorbar(image, ax=axes, location="bottom", shrink=0.8, aspect=30, label="Spearman")
    return figure


def _numbered(axes, names: list[str], size: float) -> None:
    """The names with their numbers beside the rows, the numbers alone above the columns: long names take their room once."""
    axes.set_yticks(range(len(names)), [f"{name}  {n}" for n, name in enumerate(names, 1)], fontsize=size)
    axes.set_xticks(range(len(names)), range(1, len(names) + 1), fontsize=size, rotation=90 if len(names) > 16 else 0)
    axes.tick_params(length=0, pad=2, labeltop=True, labelbottom=False)
    axes.spines[:].set_visible(False)


def contrast_matrix(table, width: float = WIDTH):
    """Matrix of paired differences, row minus column (a, b, mean, p_adjusted); a dot marks an adjusted p < 0.05; best variant first."""
    names = sorted(set(table["a"]) | set(table["b"]))
    place = {name: n for n, name in enumerate(names)}
    values, sure = np.full((len(names),) * 2, np.nan), np.zeros((len(names),) * 2, dtype=bool)
    for a, b, mean, p in table[["a", "b", "mean", "p_adjusted"]].itertuples(index=False):
        values[place[a], place[b]], values[place[b], place[a]] = mean, -mean
        sure[place[a], place[b]] = sure[place[b], place[a]] = p < 0.05
    order = np.argsort(-np.nanmean(values, axis=1), kind="stable")
    values, sure, names = values[np.ix_(order, order)], sure[np.ix_(order, order)], [names[n] for n in order]
    figure, axes = axes_of(width * 0.85, width)
    top = max(float(np.nanmax(np.abs(values))), 0.01)
    image = axes.imshow(values, vmin=-top, vmax=top, cmap="PuOr_r", aspect="auto")
    axes.plot(*np.nonzero(sure)[::-1], ls="", marker="o", ms=2.4 if len(names) <= 16 else 1.8, color="black", mec="white", mew=0.3)
    _numbered(axes, labels(names), 6 if len(names) <= 16 else 5)
    figure.colorbar(image, ax=axes, location="bottom", shrink=0.8, aspect=30, label="NRG, row minus column")
    return figure
