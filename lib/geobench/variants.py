"""What a variant's name says (METHOD or METHOD__MODEL), and what each method may do and see."""

from geobench.attacks import CONTROL_OF, METHODS, THREAT, knowledge_of, with_knowledge

ORDER = ("white-box", "black-box", "white-hat", "control", "external")

REWRITES = {
    "authoritative": "rewrite in a confident, expert voice",
    "statistics": "rewrite that adds figures",
    "citations": "rewrite that adds sources",
    "quotes": "rewrite that adds quotations",
    "fluency": "rewrite for flow alone",
    "unique_words": "rewrite with rarer words",
    "technical_terms": "rewrite with technical vocabulary",
    "simple_language": "rewrite in plain words",
    "content_improvement": "rewrite with the means of all styles together",
    "llm_guidance": "a generated summary in markdown before the original",
}
# access to the ranker, mechanism, what the method knows of the ranker's prompt (white-box methods: SEEN)
FACTS = {
    "sts": ("weights and gradients", "greedy coordinate search over suffix tokens for the objective", ""),
    "stealthrank": ("weights and gradients", "Langevin steps on suffix logits: target rank, fluency, few promotional words", ""),
    "raf": ("weights and gradients", "suffix grown token by token, rank loss weighed against fluency by entropy", ""),
    "random_search": ("value of the objective", "random token swaps, as many as sts tries; the best is kept", ""),
    "zero_shot": ("none", "one promotional snippet from an attacker model, appended", "the item's own text"),
    "tap": (
        "rank of the target",
        "tree search: an attacker model refines suffixes by their mean rank",
        "the item, competitors' names, its past ranks",
    ),
    **{method: ("none", mechanism, "the item's own text") for method, mechanism in REWRITES.items()},
    "injection": ("none", "an instruction to rank the item first, appended", "that a model ranks"),
    "padding": ("none", "the item's own opening words again, appended", "nothing"),
    "external": ("as its author says", "texts brought in by the user", "as its author says"),
}


def method_of(variant: str) -> str:
    """`tap` of `tap__qwen2.5-14b`, `sts` of `sts@own__smollm2-135m`."""
    return variant.split("__")[0].split("@")[0]


def model_of(variant: str) -> str:
    """The attacker, rewriter or optimised-on model; "" for methods without one."""
    return variant.partition("__")[2]


def threat_of(variant: str) -> str:
    """One of ORDER; what has no method of ours is external."""
    method = method_of(variant)
    if method in CONTROL_OF:
        return "control"
    return THREAT.get(METHODS.get(method, ""), "external")


def by_threat(frame, value: str | None = None):
    """Rows by threat model in ORDER, then by falling `value` (or by name)."""
    place = frame["variant"].map(lambda v: ORDER.index(threat_of(v)))
    keys = frame.assign(_threat=place, _value=-frame[value].fillna(-1e9) if value else 0)
    return frame.loc[keys.sort_values(["_threat", "_value", "variant"], kind="stable").index].reset_index(drop=True)


SEEN = {
    "own": "nothing: it searches under a prompt of its own",
    "paraphrased": "what it asks: it searches under a paraphrase",
    "deployed": "all of it, but not what the ranker reads out",
    "readout": "all of it, and the attention read-out",
}


def methods_table(variants, params):
    """variant, threat model, access, mechanism, knows, whether the search saw the deployed prompt (by its objective or its choice of a
    checkpoint): one row per variant of the run."""
    import pandas as pd

    rows = []
    for variant in variants:
        method = method_of(variant)
        access, mechanism, knows = FACTS.get(method, FACTS["external"])
        seen = "yes" if method == "tap" else "no"
        if METHODS.get(method) == "white_box":
            own, known = with_knowledge(params, variant), knowledge_of(params, variant)
            knows, ranked = SEEN[known], own.selection in ("held_out", "released")
            seen = "yes" if known in ("deployed", "readout") else "in the choice of a checkpoint" if ranked else "no"
        row = {"variant": variant, "threat model": threat_of(variant), "access to the ranker": access, "mechanism": mechanism}
        rows.append(row | {"knows of the prompt": knows, "search sees it": seen, "model": model_of(variant) or "none"})
    return by_threat(pd.DataFrame(rows))
