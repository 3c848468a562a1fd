"""The profiles against the papers' printed settings."""

import pytest
import yaml

from geobench import published_settings as published
from geobench.errors import GeoBenchError


def test_the_profiles_have_the_printed_settings_but_for_named_exceptions():
    assert published.contradictions() == []
    found = published.read_settings()
    assert {row.profile for row in found.settings} == {"paper", "paper_v1"} and all(len(row.why) > 30 for row in found.exceptions)


def test_a_contradiction_is_one_line(tmp_path):
    file = tmp_path / "settings.yaml"
    row = {"paper": "P", "place": "p. 3", "profile": "paper", "parameter": "sts_steps", "value": 7}
    one = {"profile": "paper", "parameter": "sts_steps", "why": "tests"}
    file.write_text(yaml.safe_dump({"settings": [row], "exceptions": []}))
    assert published.contradictions(file) == ["paper: sts_steps is 500; P (p. 3) has 7"]
    file.write_text(yaml.safe_dump({"settings": [row], "exceptions": [one]}))
    assert published.contradictions(file) == []
    file.write_text(yaml.safe_dump({"settings": [row | {"value": 500}, row | {"parameter": "steps"}], "exceptions": [one]}))
    assert published.contradictions(file) == ["paper: no parameter `steps`", "paper: the exception for sts_steps is needed by no value"]
    file.write_text("settings: [{paper: x}]\nexceptions: []\n")
    with pytest.raises(GeoBenchError, match="settings.yaml: settings.0.place"):
        published.read_settings(file)
