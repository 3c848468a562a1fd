"""Peak memory of the work done so far, and what there is left."""

import os
import sys
from pathlib import Path


def peak_mib() -> int:
    """MiB: on CUDA the most that was allocated since the last call, elsewhere the process's peak resident size (which never falls)."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        return round(peak / 2**20)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB on Linux, bytes on macOS
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))


def peak_of_children_mib() -> int:
    """MiB: the peak resident size of the largest process that this one started and that has ended."""
    import resource

    return round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10))


def available_mib() -> int:
    """MiB that this machine, or the container that this process is in, can still give."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    there = Path("/proc/meminfo")
    if there.exists():
        found = dict(line.split(":", 1) for line in there.read_text().splitlines())
        pages = int(found["MemAvailable"].split()[0]) // 2**10
    group = Path("/sys/fs/cgroup")
    limits = [_container(group, "max", "current", "inactive_file"),
              _container(group / "memory", "limit_in_bytes", "usage_in_bytes", "total_inactive_file")]  # fmt: skip
    return min([pages, *(limit for limit in limits if limit is not None)])


def _container(folder: Path, limit: str, used: str, cached: str) -> int | None:
    """MiB that are left of a control group's limit, files that it holds in memory aside; None where there is no group or no limit."""
    try:
        most, now = ((folder / f"memory.{name}").read_text().strip() for name in (limit, used))
        held = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except OSError:
        return None
    return None if most == "max" else max(0, int(most) - int(now) + int(held.get(cached, 0))) // 2**20
