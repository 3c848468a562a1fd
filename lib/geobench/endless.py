"""Sizes that no device finishes: the dry run says so, a run refuses them before it starts."""

from geobench.models import spec

YEARS = 10  # of one device, for one piece of work
RATE = 1e5  # tokens a second where models.yaml gives no throughput
RESAMPLES = 10**7  # more do not fit the memory of the bootstrap (eight bytes per resample and list)


def endless(params, found: list) -> list[str]:
    """One line per piece of work that would take more than YEARS, and for a bootstrap that cannot be held. found: workload.Work."""
    lines = []
    for work in found:
        years = (work.tokens_in - work.repeated + work.tokens_out) / _rate(work.model) / (365 * 24 * 3600)
        if years > YEARS:
            lines.append(f"{work.notebook}: {work.what}: {work.calls:,} calls would take about {years:,.0f} years on one device")
    if max(params.resamples, params.search_resamples) > RESAMPLES:
        lines.append(f"resamples: at most {RESAMPLES:,} can be held, got {max(params.resamples, params.search_resamples):,}")
    return lines


def _rate(model: str) -> float:
    rates = spec(model).throughput
    return rates["input"] if rates else RATE
