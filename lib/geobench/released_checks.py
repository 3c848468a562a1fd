"""What every released record must be, whatever its format: a known method, ranks from 1 to L + 1."""

import numpy as np

from geobench.errors import GeoBenchError, came, nearest
from geobench.variants import method_of


def named(row) -> str:
    """How messages name a record."""
    run = f", run {row['run']}" if row.get("run", 1) != 1 else ""
    return f"{row['file']}: {row['variant']}, {row['dataset']}/{row['list']}, target {row['target']}{run}"


def known_methods() -> set[str]:
    """The methods that released records may name."""
    from geobench.attacks import METHODS

    return set(METHODS)


def check_method(variant: str, where: str) -> str:
    """The variant, if its method is known."""
    if (method := method_of(str(variant))) not in known_methods():
        raise GeoBenchError(f"{where}: unknown variant {came(variant)}.{nearest(method, known_methods())}")
    return variant


def check_ranks(values, size: int, what: str, whole: bool = False) -> np.ndarray:
    """Ranks as numbers; GeoBenchError for none, nan, any outside 1..L+1, or (where `whole`: no medians) a fraction."""
    if not isinstance(values, list) or not values:
        kind = "missing original" if "before" in what else "missing ranks"
        raise GeoBenchError(f"{what}: {kind}: expected a list of ranks, got {came(values)}")
    for value in values:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 1 <= value <= size + 1 or (whole and value != int(value)):
            raise GeoBenchError(f"{what}: expected {'whole ' * whole}ranks from 1 to {size + 1} (L + 1: missing), got {came(value)}")
    return np.asarray(values, dtype=float)
