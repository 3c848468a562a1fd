"""YAML values: exponents are numbers, objects are refused."""

import pytest
import yaml

from geobench.yaml_values import parse_yaml


def test_exponents_are_numbers():
    assert parse_yaml("1e-3") == 0.001 and parse_yaml("007x") == "007x" and parse_yaml("[1E5, -2e+3]") == [100000.0, -2000.0]


def test_objects_are_refused():
    with pytest.raises(yaml.YAMLError):
        parse_yaml("!!python/object/apply:os.system [ls]")
