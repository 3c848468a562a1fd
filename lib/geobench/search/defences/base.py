"""One interface for every defence: a decision on a chunk (keep or drop) or on an answer (pass or refuse).

A **decision** holds the score, the raw text that it was read from, whether that text could be read, and the polarity that says
which end of the score or which word means risk. What happens to unreadable replies is a policy of the caller, never of a parser.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Literal

from geobench.errors import GeoBenchError, came, nearest

Polarity = Literal["high_is_risk", "yes_is_risk", "unsafe_is_risk", "yes_is_grounded"]
UNPARSED = ("keep", "block")


@dataclass(frozen=True)
class Decision:
    """`risk`: True, False, or None where the reply could not be read (then `parsed` is False and a policy decides).

    `score` grows with risk where there is one; `raw` is the model's reply, empty for scores; `detail` names a category or a reason.
    """

    risk: bool | None
    polarity: Polarity
    score: float | None = None
    raw: str = ""
    detail: str = ""

    @property
    def parsed(self) -> bool:
        return self.risk is not None

    def blocked(self, unparsed: str = "keep") -> bool:
        """Whether the chunk is dropped or the answer refused; `unparsed` (keep or block) rules where nothing could be read."""
        if unparsed not in UNPARSED:
            raise GeoBenchError(f"unparsed policy: expected keep or block, got {came(unparsed)}.{nearest(str(unparsed), UNPARSED)}")
        return (unparsed == "block") if self.risk is None else self.risk

    def record(self) -> dict:
        """The decision as a JSON row."""
        return asdict(self) | {"parsed": self.parsed}


def by_score(score: float, tau: float, detail: str = "") -> Decision:
    """Risk at a score of at least tau; GeoBenchError for nan, which is no score."""
    if math.isnan(score):
        raise GeoBenchError("decision: expected a score, got nan")
    return Decision(score >= tau, "high_is_risk", float(score), "", detail)


def threshold(scores, rate: float) -> float:
    """Least tau at which at most `rate` of the harmless scores are at or above it.

    With n scores at most floor(rate n) may be blocked; tau lies just above the next lower score. GeoBenchError without scores.
    """
    ordered = sorted(map(float, scores), reverse=True)
    if not ordered or any(map(math.isnan, ordered)) or not 0 <= rate <= 1:
        raise GeoBenchError(f"threshold: expected harmless scores and a rate of 0 to 1, got {came(ordered, 60)} and {came(rate)}")
    allowed = math.floor(rate * len(ordered) + 1e-9)
    return math.nextafter(ordered[allowed], math.inf) if allowed < len(ordered) else ordered[-1]


def unite(decisions: list[list[Decision]], taus: list[float] | None = None) -> list[Decision]:
    """The union of decisions on the same texts: risk where any sees risk, unparsed where none does and one could not read.

    With `taus` the scores are compared anew (one false-positive budget shared by the members).
    """
    if len({len(d) for d in decisions}) != 1:
        raise GeoBenchError(f"union: expected decisions on the same texts, got lists of {', '.join(str(len(d)) for d in decisions)}")
    if taus:
        decisions = [[replace(d, risk=d.score >= t) for d in part] for part, t in zip(decisions, taus)]
    united = []
    for row in zip(*decisions):
        risks = [d.risk for d in row]
        risk = True if True in risks else None if None in risks else False
        united.append(Decision(risk, "high_is_risk", float(sum(r is True for r in risks)), " | ".join(d.raw for d in row if d.raw)))
    return united
