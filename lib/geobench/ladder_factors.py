"""The factors in which a published script and the protocol differ, and which of them a ranker's read-out has."""

from geobench.errors import GeoBenchError
from geobench.rankers import parse_name

FACTORS = {
    "selection": ("best of all", "last", "held out"),
    "items": ("objects", "numbered"),
    "query": ("recommendation", "protocol"),
    "template": ("llama-2", "own"),
    "decoding": ("sampled", "greedy"),
    "orders": ("one", "median"),
}
SCRIPT = {"attention": ("items", "query", "template"), "generate": ("items", "query", "template", "decoding")}


def factors_of(ranker: str, traced: bool = False, orders: int = 2) -> dict[str, tuple[str, ...]]:
    """The factors that mean something for a ranker's read-out, for texts with or without a trace and so many orders.

    GeoBenchError where scripts mean nothing (pointwise read-outs).
    """
    read_out = parse_name(ranker)[1]
    if read_out not in SCRIPT:
        raise GeoBenchError(f"evaluation ladder: `{ranker}` sees one item at a time, so it has no script; expected {' or '.join(SCRIPT)}")
    names = ["selection"] * traced + [*SCRIPT[read_out]] + ["orders"] * (orders > 1)
    return {name: FACTORS[name] for name in names}
