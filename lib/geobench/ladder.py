"""Evaluation ladder: the same texts, one factor of the evaluation changed at a time between a published script and the protocol.

Three readings of the same factors: one factor changed from the published end, one from the shared end, and the full path from one
to the other. A factor may have settings between the ends, which are no part of the path. Every configuration is a per-target table, so
all steps have intervals over lists and paired differences.
"""

from collections.abc import Callable, Iterable, Mapping

from geobench.outcomes import within
from geobench.stats import NO_TEST, cluster_mean, p_value, paired_difference

COLUMNS = ["part", "step", "changed"]
PARTS = ("from published", "from shared", "path")


def configurations(factors: Mapping[str, tuple[str, ...]], parts: Iterable[str] = PARTS) -> list[tuple[str, int, str, dict]]:
    """(part, step, changed factor, configuration) of every rung; factors: name -> settings, the published first, the shared last.

    From either end every other setting of every factor is a rung; the path goes straight from first to last, factor by factor.
    parts: those of PARTS that are wanted.
    """
    published, shared = ({name: settings[end] for name, settings in factors.items()} for end in (0, -1))
    rungs = []
    for part, end, others in (("from published", published, slice(1, None)), ("from shared", shared, slice(None, -1))):
        changes = [("", end)] + [(name, end | {name: to}) for name, settings in factors.items() for to in settings[others]]
        rungs += [(part, n, name, config) for n, (name, config) in enumerate(changes)]
    path, at = [("path", 0, "", published)], published
    for n, (name, settings) in enumerate(factors.items(), 1):
        at = at | {name: settings[-1]}
        path.append(("path", n, name, at))
    return [rung for rung in rungs + path if rung[0] in parts]


def ladder(
    factors: Mapping[str, tuple[str, ...]],
    evaluate: Callable[[dict], object],
    values=("nrg", "success@0.1"),
    resamples: int = 5000,
    seed: int = 0,
    inference: str = "t",
    parts: Iterable[str] = PARTS,
):
    """One row per rung: COLUMNS, the settings, each value's mean with interval, and the paired change of the first value.

    `evaluate(configuration)` gives a per-target table. The change is against the rung that one factor separates it from: rung 0
    of its part, or the step before on the path.
    """
    import pandas as pd

    made: dict[tuple, object] = {}

    def table(config: dict):
        key = tuple(config.items())
        if key not in made:
            made[key] = evaluate(config)
        return made[key]

    rows, base = [], None
    for part, step, changed, config in configurations(factors, parts):
        now = table(config)
        row = {"part": part, "step": step, "changed": changed or "none", **config}
        for value in values:
            estimate = cluster_mean(now, value, resamples, seed, inference=inference)
            low, high = within(value, estimate.lo, estimate.hi)
            row |= {value: estimate.mean, f"{value}_lo": low, f"{value}_hi": high}
        difference = paired_difference(now, base if step else now, values[0], resamples, seed, inference=inference)
        row |= {"change": difference.mean, "change_lo": difference.lo, "change_hi": difference.hi}
        p = p_value(difference) if step else float("nan")
        note = "; ".join(filter(None, [difference.note, NO_TEST if step and p != p and difference.se == 0 else ""]))
        rows.append(row | {"p": p, "n_targets": difference.n_targets, "note": note})
        base = now if part == "path" or not step else base
    return pd.DataFrame(rows)
