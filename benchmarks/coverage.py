"""How often the 95 % interval of the list-cluster bootstrap covers the truth, by number of lists in a data set.

Simulated lists of eight targets with a random shift per list (intra-list correlation 0.3), truth 0. Run: python benchmarks/coverage.py
"""

import argparse

import numpy as np

from geobench.resampling import resample_counts
from geobench.stats import PERCENTILES


def coverage(lists: int, studies: int = 2000, resamples: int = 1000, seed: int = 0, size: int = 8, correlation: float = 0.3) -> float:
    """Share of simulated studies whose interval holds the truth; every study draws its own resamples."""
    rng = np.random.default_rng(seed)
    covered = 0
    for study in range(studies):
        shift = rng.normal(0, np.sqrt(correlation), (lists, 1))
        values = shift + rng.normal(0, np.sqrt(1 - correlation), (lists, size))
        counts = resample_counts({"simulated": lists}, resamples, seed * studies + study)
        low, high = np.percentile(counts @ values.sum(axis=1) / (counts.sum(axis=1) * size), PERCENTILES)
        covered += low <= 0 <= high
    return covered / studies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=10_000)
    studies = parser.parse_args().studies
    for lists in (3, 4, 6, 10, 20, 50):
        print(f"{lists:3} lists: the 95 % interval covers the truth in {100 * coverage(lists, studies):.1f} % of {studies} studies")


if __name__ == "__main__":
    main()
