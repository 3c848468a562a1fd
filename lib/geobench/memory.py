"""Peak memory of the work done so far."""

import sys


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
