"""Figures of the defences: ROC curves, block rates, what defences do to the attack, verdict transitions."""

from geobench.figures import axes_of
from geobench.search.figures import COLOURS, LABELS, MARKERS

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#555555", "#000000", "#8C564B")
STYLES = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1, 1.5)))  # curves that share a stretch stay apart


def roc(scores, against: str = "ip"):
    """ROC of every detector, ID against one harmless state; scores: detector, state, score."""
    from sklearn.metrics import roc_curve

    figure, axes = axes_of(2.6)
    for n, (colour, (name, part)) in enumerate(zip(PALETTE, scores.groupby("detector", sort=False))):
        used = part[part.state.isin(["id", against])].dropna(subset=["score"])
        x, y, _ = roc_curve(used["state"] == "id", used["score"])
        axes.plot(x, y, color=colour, lw=1.2, ls=STYLES[n % len(STYLES)], label=name.replace("_", " "))
    axes.plot([0, 1], [0, 1], color="0.7", lw=0.6, zorder=0)
    axes.set(xlabel=f"{LABELS[against]} documents flagged", ylabel="ID documents flagged", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.legend(fontsize=5, frameon=False, loc="lower right")
    return figure


def block_rates(table, value: str = "target"):
    """Share of blocked chunks per defence (rows) and condition (markers)."""
    names = list(dict.fromkeys(table["defence"]))
    figure, axes = axes_of(0.9 + 0.28 * len(names))
    for condition, part in table.groupby("condition", sort=False):
        places = [names.index(d) for d in part["defence"]]
        axes.scatter(part[value], places, color=COLOURS[condition], marker=MARKERS[condition], s=14, label=LABELS[condition], lw=0)
    axes.set_yticks(range(len(names)), [n.replace("_", " ") for n in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set(xlim=(-0.03, 1.03), xlabel=f"blocked share of {'target' if value == 'target' else 'all'} chunks")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=6, frameon=False)
    return figure


def effects(table):
    """Change of ASR under ID against no defence, with intervals, per configuration (rows) and victim (colours)."""
    names, victims = list(dict.fromkeys(table["defence"])), list(dict.fromkeys(table["victim"]))
    figure, axes = axes_of(1.0 + 0.3 * len(names))
    for n, victim in enumerate(victims):
        part = table[table.victim == victim]
        y = [names.index(d) + 0.18 * (n - (len(victims) - 1) / 2) for d in part["defence"]]
        error = [(part["change"] - part["lo"]).clip(lower=0).fillna(0), (part["hi"] - part["change"]).clip(lower=0).fillna(0)]
        axes.errorbar(part["change"], y, xerr=error, fmt="o", ms=3, lw=0.8, color=PALETTE[n], label=victim)
    axes.axvline(0, color="0.5", lw=0.6, zorder=0)
    axes.set_yticks(range(len(names)), [n.replace("_", " ") for n in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set(xlabel="change of ASR under ID (95 % interval)")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=1, fontsize=6, frameon=False)
    return figure


def transitions(table):
    """One 3 x 3 panel per configuration: ASR level without (rows) against with the defence (columns), counts over victims."""
    names = list(dict.fromkeys(table["defence"]))
    figure, panels = axes_of(1.6, width=max(3.4, 1.25 * len(names)), columns=len(names))
    for axes, name in zip([panels] if len(names) == 1 else panels, names):
        part = table[table.defence == name].groupby("before", sort=False)[["0", "0.5", "1"]].sum().loc[["0", "0.5", "1"]]
        axes.imshow(part.to_numpy(), cmap="Blues", vmin=0)
        for (i, j), count in _cells(part):
            axes.text(
                j,
                i,
                str(int(count)),
                ha="center",
                va="center",
                fontsize=6,
                color="black" if count < part.to_numpy().max() * 0.6 else "white",
            )
        axes.set_xticks(range(3), ["0", "½", "1"])
        axes.set_yticks(range(3), ["0", "½", "1"])
        axes.set_title(name.replace("_", " ").replace(":", "\n"), fontsize=6)
        axes.set(xlabel="with", ylabel="without" if name == names[0] else "")
    return figure


def _cells(part):
    import numpy as np

    return list(np.ndenumerate(part.to_numpy()))


def tau_curve(table):
    """Blocked chunks per condition over taus of the guard."""
    figure, axes = axes_of(2.0)
    for condition in ("clean", "ip", "id"):
        axes.plot(table["tau"], table[condition], color=COLOURS[condition], marker=MARKERS[condition], ms=2, lw=1, label=LABELS[condition])
    axes.set(xlabel="tau of the guard", ylabel="blocked target chunks", ylim=(-0.03, 1.03))
    axes.legend(fontsize=6, frameon=False)
    return figure
