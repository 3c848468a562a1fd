"""HTML pages from templates beside this file: self-contained, every value escaped, no request to anywhere."""

import re
from pathlib import Path


def render(template: str, **values) -> str:
    """The page of `<template>.html.j2`; values from data are escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).parent)
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return made.get_template(f"{template}.html.j2").render(**values)


def cells(row) -> list[tuple[str, str, bool]]:
    """(value, as shown, is a number) of each cell of a CSV row; long decimals are shown to four significant digits."""
    return [(v, _short(v), bool(re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", v))) for v in row]


def _short(value: str) -> str:
    return f"{float(value):.4g}" if re.fullmatch(r"-?\d+\.\d{3,}(e-?\d+)?", value) else value
