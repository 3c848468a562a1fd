"""Methods by name, grouped by what they may see. A variant is named for its method and its model."""

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

TARGET_LAST = ("stealthrank",)  # methods whose own prompt shows the target at the end, as published


def family(method: str) -> str:
    """The method whose parameters a method goes by: its own name, unless it is another's control."""
    return CONTROL_OF.get(method, method)


def split(entry: str) -> tuple[str, str | None]:
    """(method, model or None) of `METHOD` or `METHOD__MODEL`, as the parameters list them."""
    method, _, model = entry.partition("__")
    return method, model or None


def named(params, entry: str) -> tuple[str, str, str | None]:
    """(variant, method, model) of an entry; without a model of its own it takes that of its group (attacker, rewriter, optimised_on)."""
    from geobench.models import spec

    method, model = split(entry)
    group = METHODS[method]
    model = (model or getattr(params, MODEL[group])) if group in MODEL else None
    return f"{method}__{spec(model).name}" if model else method, method, model


def entries(params) -> list[str]:
    """Every entry of the four groups, in their order."""
    return [*params.white_box, *params.black_box, *params.rewrites, *params.controls]
