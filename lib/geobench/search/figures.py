"""Figures of the search track: scores per victim and condition, and what the contexts did to the likelihood victim's preference."""

from geobench.figures import axes_of

COLOURS = {"clean": "#0072B2", "ip": "#009E73", "id": "#D55E00"}
LABELS = {"clean": "clean", "ip": "IP", "id": "ID"}
MARKERS = {"clean": "o", "ip": "^", "id": "s"}


def scores(main, value: str = "asr"):
    """Mean score with interval per victim (rows) and condition (markers)."""
    victims = list(dict.fromkeys(main["victim"]))
    figure, axes = axes_of(0.9 + 0.5 * len(victims))
    for shift, (condition, part) in zip((-0.22, 0, 0.22), main.groupby("condition", sort=False)):
        part = part.set_index("victim").loc[victims]
        error = [(part[value] - part[f"{value}_lo"]).clip(lower=0).fillna(0), (part[f"{value}_hi"] - part[value]).clip(lower=0).fillna(0)]
        y = [n + shift for n in range(len(victims))]
        axes.errorbar(part[value], y, xerr=error, fmt=MARKERS[condition], color=COLOURS[condition], ms=4, lw=0.8, label=LABELS[condition])
    axes.set_yticks(range(len(victims)), [v.replace(":", "\n") for v in victims])
    axes.set_ylim(len(victims) - 0.5, -0.5)
    axes.set(xlim=(-0.04, 1.04), xlabel={"asr": "false claim (ASR score, 95 % interval)", "accuracy": "accuracy (95 % interval)"}[value])
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=6, frameon=False)
    return figure


def margins(rows: list[dict]):
    """Mean paraphrase margin (context minus prior, nats) per query, sorted by the ID value; right of zero: prefers the false claim."""
    by_name: dict[str, dict] = {}
    for row in rows:
        by_name.setdefault(row["name"], {})[row["condition"]] = sum(row["margins"][:-1]) / max(1, len(row["margins"]) - 1)
    order = sorted(by_name, key=lambda n: (by_name[n].get("id", 0), n))
    figure, axes = axes_of(0.9 + 0.13 * len(order))
    for condition in COLOURS:
        x = [by_name[n].get(condition) for n in order]
        axes.scatter(x, range(len(order)), s=10, marker=MARKERS[condition], color=COLOURS[condition], label=LABELS[condition], lw=0)
    axes.axvline(0, color="0.4", lw=0.6, zorder=0)
    axes.set_yticks(range(len(order)), [n.replace("_", " ") for n in order], fontsize=5)
    axes.set_ylim(-0.7, len(order) - 0.3)
    axes.set(xlabel="preference for the false claim (nats)")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=6, frameon=False)
    return figure


def gate_curve(sensitivity):
    """Pass rates over gate thresholds."""
    figure, axes = axes_of(2.0)
    axes.plot(sensitivity["threshold"], sensitivity["both"], marker="o", ms=7, lw=4, color="#BBBBBB", label="both")
    for name, marker, size, style in (("ip", "^", 4, "-"), ("id", "s", 3, (0, (3, 3)))):  # equal curves stay visible
        look = {"ls": style, "marker": marker, "ms": size, "color": COLOURS[name], "label": LABELS[name]}
        axes.plot(sensitivity["threshold"], sensitivity[name], lw=1, **look)
    axes.set(xlabel="gate threshold", ylabel="share that passes", ylim=(-0.03, 1.03))
    axes.legend(fontsize=6, frameon=False)
    return figure
