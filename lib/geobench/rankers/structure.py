"""Structured output of the `generate` read-out: the engine can only write a reply of the form that the prompt asks for.

`numbers`: the prompt's numbers, "[2] > [1] > [3]", by a regular expression; `json`: {"ranking": [names]}, by a JSON schema. Both hold the
count and the entries, but an entry can be written twice (then the parse status says so). Only engines with `structures` can do it.
"""

from geobench.errors import GeoBenchError, nearest
from geobench.prompts import load_prompt

STRUCTURES = ("numbers", "json")
ENGINES = ("vllm",)


def constraint(structure: str, names: list[str]) -> dict:
    """{"regex": ...} or {"json": a schema} for a list whose names are shown in this order."""
    size = len(names)
    if structure == "numbers":
        number = r"\[(" + "|".join(map(str, range(1, size + 1))) + r")\]"
        return {"regex": f"{number}( > {number}){{{size - 1}}}"}
    entries = {"type": "array", "items": {"type": "string", "enum": sorted(set(names))}, "minItems": size, "maxItems": size}
    return {"json": {"type": "object", "properties": {"ranking": entries}, "required": ["ranking"], "additionalProperties": False}}


def instruction(structure: str) -> str:
    """What the prompt asks for in place of a numbered list."""
    return load_prompt("ranking_structured")[structure]


def require(structure: str | None, engine, what: str) -> None:
    """GeoBenchError for an unknown structure, or an engine (the loaded one, or its name in models.yaml) without structured output."""
    if structure is None:
        return
    if structure not in STRUCTURES:
        raise GeoBenchError(f"rank_structure: unknown structure `{structure}`.{nearest(structure, STRUCTURES)}")
    if not (engine in ENGINES if isinstance(engine, str) else getattr(engine, "structures", False)):
        raise GeoBenchError(
            f"rank_structure: {what} cannot be held to `{structure}`: its engine has no structured output "
            f"(engines with it: {', '.join(ENGINES)}); use null"
        )
