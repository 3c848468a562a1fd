"""YAML as parameters are written in it: safe-loaded, and 1e-3 is a number."""

import re
from pathlib import Path

import yaml

from geobench.errors import GeoBenchError, came


class _Loader(yaml.SafeLoader):
    """Safe YAML in which 1e-3 is a number, and without aliases, few of which can stand for endless values."""

    def compose_node(self, parent, index):
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(f"aliases (*{self.peek_event().anchor}) are not accepted")
        return super().compose_node(parent, index)


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789"))


def parse_yaml(text: str | bytes, what: str = "the text"):
    """Safe-loaded YAML (bytes: UTF-8); GeoBenchError, which names `what` it was, for anything that cannot be read as such."""
    try:
        return yaml.load(text.decode("utf-8") if isinstance(text, bytes) else text, _Loader)
    except Exception as error:  # PyYAML also lets RecursionError, ValueError, KeyError and AttributeError through
        raise GeoBenchError(f"{what}: not valid YAML: {came(error)}") from error


def read_mapping(file: Path) -> dict:
    """The mapping of a YAML file, {} where it is empty; GeoBenchError, which names the file, for anything else."""
    values = parse_yaml(file.read_bytes(), str(file))
    if not isinstance(values, dict | None):
        raise GeoBenchError(f"{file}: expected a mapping of names to values, got {came(values)}")
    return values or {}
