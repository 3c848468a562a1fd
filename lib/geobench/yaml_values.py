"""YAML as parameters are written in it: safe-loaded, and 1e-3 is a number."""

import re

import yaml


class _Loader(yaml.SafeLoader):
    """Safe YAML in which 1e-3 is a number."""


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789"))


def parse_yaml(text: str):
    """Safe-loaded YAML."""
    loader = _Loader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()
