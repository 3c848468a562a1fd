"""How often 95 % intervals hold the truth, and how often a study finds a difference that is not there, by numbers of lists.

Every simulated study is a table of targets x variants that goes through `geobench.stats`, `contrasts` and `multiplicity` as a run's does.
Writes data/coverage.csv, which notebook 07 shows. Run: python benchmarks/coverage.py (a quarter of an hour beside other work, one thread)

designs: lists per data set of the `smoke` run (one target each, 18 variants), of the papers (all targets, 24 variants), and one data set of
3 to 50 lists (8 targets, 6 variants). values (L = 8 places; half of the variance or more lies between lists unless it says otherwise):
- `normal`: normal, correlation 0.3 within a list;
- `uneven`: the same, the data sets' standard deviations 1, 1/2, 1/4, 1, 1/2;
- `gains`: rank gains (before - after) / (L - 1): discrete, skewed, cut at the ends of the list, with a normal shift per list;
- `permuted`: gains of variants from harmless to strong, dealt anew among the variants within each target, so that none is better;
- `raised`: gains, those of the first half of the variants higher by 0.3: false and true differences in one study.
"""

import argparse
import time
from itertools import combinations, product

import numpy as np

from geobench import paths
from geobench.contrasts import adjusted_ps, paired_contrasts
from geobench.multiplicity import METHODS
from geobench.stats import INFERENCES, estimates
from geobench.welch import p_values

PLACES, RESAMPLES, RAISED, LEVEL = 8, 1000, 0.3, 0.05
DESIGNS = {  # lists per data set, targets per list in each, variants, studies
    "smoke": ((2, 2, 2), (1, 1, 1), 18, 2000),
    "papers": ((50, 3, 4, 20, 6), (8, 10, 10, 10, 8), 24, 1000),
    **{f"{n} lists": ((n,), (8,), 6, 2000) for n in (3, 6, 10, 24, 50)},
}
VALUES = ("normal", "uneven", "gains", "permuted", "raised")
SPREADS = (1, 1 / 2, 1 / 4, 1, 1 / 2)


def keys(sizes, targets) -> list[tuple[int, int, int]]:
    """(data set, list, target) of every target."""
    return [(d, n, t) for d, (lists, many) in enumerate(zip(sizes, targets)) for n in range(lists) for t in range(many)]


def study(kind: str, places: np.ndarray, variants: int, rng, apart: bool = False) -> np.ndarray:
    """[targets, variants] values of one study, or of as many studies of one variant. places: `keys`."""
    of = np.unique(places[:, :2], axis=0, return_inverse=True)[1].ravel()
    shift = rng.normal(size=(of.max() + 1, variants))[of]
    if kind in ("normal", "uneven"):
        spread = np.array(SPREADS)[places[:, :1]] if kind == "uneven" else 1.0
        return spread * (np.sqrt(0.3) * shift + np.sqrt(0.7) * rng.normal(size=shift.shape))
    strength = np.linspace(0, 0.8, variants) if kind == "permuted" else np.full(variants, 0.15)
    if kind == "raised":
        strength[: variants // 2] += RAISED
    push = strength + 0.2 * shift + 0.25 * (rng.exponential(size=shift.shape) - 1)
    before = rng.integers(1, PLACES + 1, size=(len(of), variants if apart else 1))
    gains = (before - np.clip(np.round(before - push * (PLACES - 1)), 1, PLACES)) / (PLACES - 1)
    return rng.permuted(gains, axis=1) if kind == "permuted" else gains


def covered(design: str, kind: str, weighting: str, inference: str, studies: int) -> float:
    """Share of studies whose interval of one variant's mean holds the truth, that of `gains` from 400,000 drawn ones."""
    import pandas as pd

    sizes, targets, *_ = DESIGNS[design]
    places, rng = np.array(keys(sizes, targets)), np.random.default_rng(VALUES.index(kind))
    true = study(kind, np.array([(0, n, 0) for n in range(20_000)]), 20, rng, True).mean() if kind == "gains" else 0.0
    frame = pd.DataFrame(study(kind, places, studies, rng, True)).rename(columns=str)
    frame[["dataset", "list", "target"]] = places
    found = estimates(frame, [str(n) for n in range(studies)], RESAMPLES, 0, weighting, inference)
    return float(np.mean([_held(e.lo, e.hi, true) for e in found]))


def compared(design: str, kind: str, weighting: str, inference: str, studies: int) -> dict:
    """What the pairs of variants show: intervals and tests of pairs that do not differ, family-wise error, true differences found."""
    sizes, targets, variants, _ = DESIGNS[design]
    places, names = np.array(keys(sizes, targets)), [f"v{n:02}" for n in range(variants)]
    pairs, rng, found = np.array(list(combinations(range(variants), 2))), np.random.default_rng(VALUES.index(kind)), []
    null = (pairs < variants // 2).sum(axis=1) != 1 if kind == "raised" else np.ones(len(pairs), bool)
    for number in range(studies):
        made = study(kind, places, variants, rng)
        rows, parts = paired_contrasts(names, places[:, :2].astype(str), made, RESAMPLES, number, weighting, inference)
        mean, low, high, se, df = np.array([row[2:7] for row in rows]).T
        p = p_values(mean, se, df)
        adjusted = [adjusted_ps(p, parts, method, RESAMPLES, number) < LEVEL for method in METHODS]
        power = [a[~null].mean() if kind == "raised" else np.nan for a in adjusted]
        found.append([_held(low, high, 0)[null].mean(), (p < LEVEL)[null].mean(), *[a[null].any() for a in adjusted], *power])
    columns = ["coverage_difference", "level_raw", *(f"{part}_{method}" for part in ("family_wise", "power") for method in METHODS)]
    return dict(zip(columns, np.mean(np.array(found, float), axis=0).tolist()))


def _held(low, high, true):
    """Whether the interval holds the truth, give or take rounding."""
    return (low <= true + 1e-12) & (true - 1e-12 <= high)


def row(design: str, kind: str, weighting: str, inference: str, studies: int | None = None) -> dict:
    """A row of the table; the same studies for every weighting and inference."""
    sizes, _, variants, many = DESIGNS[design]
    asked = (design, kind, weighting, inference, studies or many)
    head = {"design": design, "lists": "+".join(map(str, sizes)), "values": kind, "weighting": weighting, "inference": inference}
    mean = covered(*asked[:4], 5 * asked[4]) if kind not in ("permuted", "raised") else float("nan")
    return head | {"variants": variants, "studies": asked[4], "coverage_mean": mean} | compared(*asked)


def main() -> None:
    import pandas as pd

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, help="per row, five times for coverage_mean; default: 2000, for the papers' sizes 1000")
    parser.add_argument("--to", default=paths.ROOT / "data" / "coverage.csv")
    asked, rows, started = parser.parse_args(), [], time.perf_counter()
    for design, (sizes, *_) in DESIGNS.items():
        several = len(sizes) > 1
        kinds, weightings = (VALUES, ("dataset", "target")) if several else (("normal", "gains"), ("dataset",))
        for kind, weighting, inference in product(kinds, weightings, INFERENCES):
            if inference == "published" and kind in ("uneven", "raised"):
                continue
            rows.append(row(design, kind, weighting, inference, asked.studies))
            print({k: f"{v:.3f}" if isinstance(v, float) else v for k, v in rows[-1].items()}, flush=True)
    pd.DataFrame(rows).to_csv(asked.to, index=False, float_format="%.4f", lineterminator="\n")
    print(f"{asked.to}: {len(rows)} rows in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
