"""Methods by name, grouped by what they may see. A variant is named `METHOD`, `METHOD__MODEL` or, for a white-box method whose knowledge of
the ranker's prompt is not the run's, `METHOD@KNOWLEDGE__MODEL`."""

from geobench.errors import GeoBenchError, nearest

NAMES = (
    "authoritative", "statistics", "citations", "quotes", "fluency",
    "unique_words", "technical_terms", "simple_language", "content_improvement", "llm_guidance",
)  # fmt: skip
METHODS = {
    "sts": "white_box",
    "raf": "white_box",
    "stealthrank": "white_box",
    "random_search": "white_box",
    "zero_shot": "black_box",
    "tap": "black_box",
    **{name: "rewrites" for name in NAMES},
    "injection": "controls",
    "padding": "controls",
}
MODEL = {"white_box": "optimised_on", "black_box": "attacker", "rewrites": "rewriter"}  # the parameter that names a method's model
CONTROL_OF = {"random_search": "sts"}  # controls in an attack's group, and the attack whose parameters they go by
THREAT = {"white_box": "white-box", "black_box": "black-box", "rewrites": "white-hat", "controls": "control"}

# what a white-box search sees of the ranker, weakest first, and the parameters that it stands for
KNOWLEDGE = {
    "own": {"optimisation_prompt": "own", "objective": "target", "selection": "objective"},
    "paraphrased": {"optimisation_prompt": "paraphrased", "objective": "target", "selection": "objective"},
    "deployed": {"optimisation_prompt": "deployed", "objective": "target", "selection": "held_out"},
    "readout": {"optimisation_prompt": "deployed", "objective": "attention", "selection": "held_out"},
}

TARGET_LAST = ("stealthrank",)  # methods whose own prompt shows the target at the end, as published


def family(method: str) -> str:
    """The method whose parameters a method goes by: its own name, unless it is another's control."""
    return CONTROL_OF.get(method, method)


def split(entry: str) -> tuple[str, str | None]:
    """(method, model or None) of `METHOD`, `METHOD__MODEL` or `METHOD@KNOWLEDGE__MODEL`, as the parameters list them."""
    whole, _, model = entry.partition("__")
    return whole.partition("@")[0], model or None


def asked_knowledge(entry: str) -> str | None:
    """The knowledge that an entry or a variant names; GeoBenchError for one that does not exist, or that the method cannot have."""
    method, at, known = entry.partition("__")[0].partition("@")
    if not at:
        return None
    if known not in KNOWLEDGE:
        raise GeoBenchError(f"`{entry}`: expected one of {', '.join(KNOWLEDGE)} after @, got `{known}`.{nearest(known, KNOWLEDGE)}")
    if METHODS.get(method) != "white_box":
        raise GeoBenchError(f"`{entry}`: only white-box methods search under a prompt; `{method}` has no @{known}")
    return known


def with_knowledge(params, entry: str):
    """The parameters under which a variant searches: the run's, or those that its knowledge stands for."""
    known = asked_knowledge(entry)
    return params.model_copy(update=KNOWLEDGE[known]) if known else params


def knowledge_of(params, entry: str) -> str:
    """One of KNOWLEDGE: what the search of a white-box variant sees in this run."""
    own = with_knowledge(params, entry)
    return "readout" if own.objective == "attention" else own.optimisation_prompt


def named(params, entry: str) -> tuple[str, str, str | None]:
    """(variant, method, model) of an entry; without a model of its own it takes that of its group (attacker, rewriter, optimised_on)."""
    from geobench.models import spec

    method, model = split(entry)
    group = METHODS[method]
    model = (model or getattr(params, MODEL[group])) if group in MODEL else None
    known = asked_knowledge(entry)
    name = f"{method}@{known}" if known else method
    return f"{name}__{spec(model).name}" if model else name, method, model


def entries(params) -> list[str]:
    """Every entry of the four groups, in their order."""
    return [*params.white_box, *params.black_box, *params.rewrites, *params.controls]
