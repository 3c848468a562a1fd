"""Prompts: every text that a model is asked with lives in params/prompts/<name>.yaml, and is filled in here.

A template holds {placeholders}; any other brace stays as it is. Values are put in once and never looked at
again, so a description that holds braces cannot pull in another field.
"""

import hashlib
import json
import re
from functools import cache

from geobench.errors import GeoBenchError, came, nearest
from geobench.paths import PARAMS
from geobench.yaml_values import parse_yaml

PROMPTS = PARAMS / "prompts"
# What each prompt file must hold: per text the placeholders that it may hold, * for those that it must.
TAP = "noun name description competitors"
NEEDS = {
    "ranking": {
        "system": "", "items_header": "", "item_line": "index name* description*", "query": "noun*", "neutral_query": "",
        "instruction": "count",
    },
    "ranking_structured": {"numbers": "count", "json": "count"},
    "judge": {"system": "", "user": "text*"},
    "relevance": {"system": "", "user": "query* text*"},
    "zero_shot": {"system": "", "user": "noun name description"},
    "tap": {"system": "", "root": TAP, "refine": f"{TAP} suffix mean_rank count"},
    "controls": {"injection": "name noun"},
    "ladder": {"item_line": "name* description*", "query": "noun*", "neutral_query": "", "wrapper": "system* user*"},
}  # fmt: skip
OWN = {"system": "", "items_header": "", "item_line": "name* description*", "ask": "noun*", "prefill": "", "reply": "name*"}
PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")


@cache
def _canonical(folder, name: str) -> str:
    """The prompt file as JSON with sorted keys: what is hashed, and what each caller gets its own copy of."""
    known = {path.stem: path for path in folder.glob("*.yaml")}
    if name not in known:
        raise GeoBenchError(f"no prompt `{name}` in {folder}; there are {', '.join(sorted(known))}")
    content = parse_yaml(known[name].read_bytes(), f"prompt `{name}`")
    if not isinstance(content, dict):
        raise GeoBenchError(f"prompt `{name}`: expected a mapping, got {came(content)}")
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def load_prompt(name: str) -> dict:
    """Content of params/prompts/<name>.yaml; GeoBenchError with the known names when there is none."""
    return json.loads(_canonical(PROMPTS, name))


def check_prompts() -> None:
    """GeoBenchError, naming file and text, where a prompt lacks a text or a placeholder, or holds one that is not filled in."""
    from geobench.attacks import NAMES

    for name, texts in NEEDS.items():
        prompt = load_prompt(name)
        for key, fields in texts.items():
            _check_text(f"prompt `{name}`: `{key}`", prompt.get(key), fields)
    nested = [("rewrites", method, {"user": "name text*"}) for method in NAMES]
    for name, method, texts in (*nested, *(("white_box", method, OWN) for method in ("sts", "raf", "stealthrank"))):
        entry = load_prompt(name).get(method)
        for key, fields in texts.items():
            _check_text(f"prompt `{name}`: `{method}.{key}`", entry.get(key) if isinstance(entry, dict) else None, fields)


def _check_text(where: str, text: object, fields: str) -> None:
    if not isinstance(text, str):
        raise GeoBenchError(f"{where} must be a text, got {came(text)}" if text is not None else f"{where} is missing")
    known = {field.rstrip("*"): field.endswith("*") for field in fields.split()}
    held = PLACEHOLDER.findall(text)
    for field in held:
        if field not in known:
            raise GeoBenchError(f"{where} holds {{{field}}}, which nothing fills in.{nearest(field, known) if known else ''}")
    for field, must in known.items():
        if must and field not in held:
            raise GeoBenchError(f"{where} must hold {{{field}}}, got {came(text)}")


def render(template: str, **fields: object) -> str:
    """`template` with each {placeholder} replaced by its field; a missing field is an error."""

    def value(match: re.Match) -> str:
        if match[1] not in fields:
            raise GeoBenchError(f"no value for placeholder {match[0]} of the prompt {came(template)}")
        return str(fields[match[1]])

    return PLACEHOLDER.sub(value, template)


def prompt_sha(name: str) -> str:
    """First 12 hex digits of the SHA-256 of the prompt's canonical JSON: its part of a fingerprint."""
    return hashlib.sha256(_canonical(PROMPTS, name).encode("utf-8")).hexdigest()[:12]
