"""What a chunk defence does to a context: the place where it sits, and what follows when chunks are dropped.

`drop` takes blocked chunks out of the victim's context and leaves the gap; `refill` goes down the list of candidates until `top` chunks
are found. Places: `after_rerank` looks at the chunks in the reranker's order (the paper's); `before_rerank` looks at all candidates, so
that dropping always refills.
"""

from geobench.errors import GeoBenchError, nearest

POLICIES = ("drop", "refill")
CHUNK_GUARDS = ("granite", "llama_guard")  # guard models that read chunks; the others read drafted answers
CHUNK_DEFENCES = ("guard", "frozen", "tfidf", "encoder_lr", "disagreement", "union", *CHUNK_GUARDS)
PLACES = ("after_rerank", "before_rerank")


def survivors(blocked: list[bool], top: int, policy: str = "drop", place: str = "after_rerank") -> list[int]:
    """Places (0-based, best first) of the candidates that the victim reads; may be empty.

    blocked: one flag per candidate in the reranker's order. GeoBenchError for an unknown policy or place.
    """
    for what, value, known in (("policy", policy, POLICIES), ("place", place, PLACES)):
        if value not in known:
            raise GeoBenchError(f"defence {what}: expected {' or '.join(known)}, got `{value}`.{nearest(str(value), known)}")
    if policy == "drop" and place == "after_rerank":
        return [n for n, b in enumerate(blocked[:top]) if not b]
    return [n for n, b in enumerate(blocked) if not b][:top]


def parse_configuration(name: str, known) -> tuple[str, str]:
    """(defence, policy) of `DEFENCE:POLICY`; GeoBenchError with the nearest known name."""
    defence, _, policy = name.partition(":")
    if defence not in known:
        raise GeoBenchError(f"search_defences: unknown defence `{defence}`.{nearest(defence, known)}")
    if policy not in POLICIES:
        raise GeoBenchError(f"search_defences: expected DEFENCE:POLICY with policy drop or refill, got `{name}`")
    return defence, policy
