"""Structured output of the `generate` read-out: the engine can only write a reply of the form that the prompt asks for.

`numbers`: the prompt's numbers, "[2] > [1] > [3]", by a regular expression; `json`: {"ranking": [names]}, by a JSON schema. Both hold the
count and the entries, but an entry can be written twice (then the parse status says so). Only engines with `structures` can do it.
"""

import json
import re

from geobench.engines.capabilities import engines_with
from geobench.errors import GeoBenchError, nearest
from geobench.parsing import Parsed, placed
from geobench.prompts import load_prompt

STRUCTURES = ("numbers", "json")


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


def read(structure: str, text: str, names: list[str], finish: str) -> Parsed | None:
    """A reply that keeps its form, read by that form alone, whatever the names look like; None where it does not (it was cut off)."""
    if structure == "numbers":
        kept = re.fullmatch(r"\[\d{1,6}\]( > \[\d{1,6}\])*", text.strip())
        found = [int(n) - 1 for n in re.findall(r"\d+", text)] if kept else None
    else:
        found = _places(text, names)
    if found is None or not all(0 <= n < len(names) for n in found):
        return None
    order = list(dict.fromkeys(found))
    return placed(len(names), finish, order, doubled=len(order) < len(found))


def _places(text: str, names: list[str]) -> list[int] | None:
    """Item of each entry of {"ranking": [...]}; of two items of one name the first comes first."""
    try:
        entries = json.loads(text)["ranking"]
        places = {name: [i for i, other in enumerate(names) if other == name] for name in entries}
        return [mine.pop(0) if len(mine) > 1 else mine[0] for mine in (places[name] for name in entries)]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None


def require(structure: str | None, engine, what: str) -> None:
    """GeoBenchError for an unknown structure, or an engine (the loaded one, or its name in models.yaml) without structured output."""
    if structure is None:
        return
    if structure not in STRUCTURES:
        raise GeoBenchError(f"rank_structure: unknown structure `{structure}`.{nearest(structure, STRUCTURES)}")
    able = engines_with("structured")
    if not (engine in able if isinstance(engine, str) else getattr(engine, "structures", False)):
        raise GeoBenchError(
            f"rank_structure: {what} cannot be held to `{structure}`: its engine has no structured output "
            f"(engines with it: {', '.join(able)}); use null"
        )
