"""Figures of white-box optimisation: curves over steps with a band over targets."""

from geobench.figures import axes_of, labels

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", ":", "-.")


def step_curves(frame, ylabel: str):
    """Mean over targets against the step, one line per variant, with a band from the 10th to the 90th percentile of targets.
    frame: traces.curve_table."""
    figure, axes = axes_of(2.4)
    variants = sorted(frame["variant"].unique())
    for n, (variant, name) in enumerate(zip(variants, labels(variants))):
        part = frame[frame["variant"] == variant].sort_values("step")
        colour = PALETTE[n % len(PALETTE)]
        axes.plot(part["step"], part["mean"], DASHES[n % len(DASHES)], color=colour, lw=1, marker="o", ms=2.5, label=name)
        axes.fill_between(part["step"], part["low"], part["high"], color=colour, alpha=0.15, lw=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel="step", ylabel=ylabel)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=6, frameon=False)
    return figure
