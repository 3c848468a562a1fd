"""Prompts: every text that a model is asked with lives in params/prompts/<name>.yaml, and is filled in here.

A template holds {placeholders}; any other brace stays as it is. Values are put in once and never looked at
again, so a description that holds braces cannot pull in another field.
"""

import hashlib
import json
import re
from functools import cache

import yaml

from geobench.errors import GeoBenchError, came
from geobench.paths import PARAMS

PROMPTS = PARAMS / "prompts"
PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")


@cache
def _canonical(folder, name: str) -> str:
    """The prompt file as JSON with sorted keys: what is hashed, and what each caller gets its own copy of."""
    known = {path.stem: path for path in folder.glob("*.yaml")}
    if name not in known:
        raise GeoBenchError(f"no prompt `{name}` in {folder}; there are {', '.join(sorted(known))}")
    try:
        content = yaml.safe_load(known[name].read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise GeoBenchError(f"prompt `{name}`: not valid YAML: {came(error)}") from error
    if not isinstance(content, dict):
        raise GeoBenchError(f"prompt `{name}`: expected a mapping, got {came(content)}")
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def load_prompt(name: str) -> dict:
    """Content of params/prompts/<name>.yaml; GeoBenchError with the known names when there is none."""
    return json.loads(_canonical(PROMPTS, name))


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
