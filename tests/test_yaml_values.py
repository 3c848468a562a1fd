"""YAML values: exponents are numbers, objects are refused, and whatever cannot be read is one clear error."""

import pytest

from geobench.errors import GeoBenchError
from geobench.yaml_values import parse_yaml, read_mapping


def test_exponents_are_numbers():
    assert parse_yaml("1e-3") == 0.001 and parse_yaml("007x") == "007x" and parse_yaml("[1E5, -2e+3]") == [100000.0, -2000.0]


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system [ls]", "[" * 5000, "{a: " * 5000, "9" * 5000, "2001-13-45", "!!bool maybe", "!!timestamp x",
        "!!int ''", "!!binary aaa", "{[1]: 2}", "{<<: 3}", "[1", "a\0", b"\xff", "[&a x, *a]",
    ],
    ids=range(15),
)  # fmt: skip
def test_what_cannot_be_read_is_named(text):
    with pytest.raises(GeoBenchError, match="^f.yaml: not valid YAML: "):
        parse_yaml(text, "f.yaml")


def test_a_file_holds_a_mapping_or_nothing(tmp_path):
    file = tmp_path / "f.yaml"
    for text, found in (("", {}), ("a: \u00e9", {"a": "\u00e9"})):
        file.write_text(text, "utf-8")
        assert read_mapping(file) == found
    for text in ("[1]", "5", "x"):
        file.write_text(text)
        with pytest.raises(GeoBenchError, match="f.yaml: expected a mapping of names to values, got"):
            read_mapping(file)
