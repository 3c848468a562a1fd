"""Locks: a second run is refused by name, and a killed one leaves nothing behind."""

import subprocess
import sys

import pytest

from geobench import paths
from geobench.errors import GeoBenchError
from geobench.locking import FolderLock
from geobench.records import Records

HOLD = """
import sys, time
from geobench.locking import FolderLock
with FolderLock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_run_names_the_first_and_kill_releases(tmp_path):
    env = {"PYTHONPATH": str(paths.ROOT / "lib")}
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(GeoBenchError, match=rf"\(process {other.pid}\) is in use by another process.*--run NAME"):
            FolderLock(tmp_path).__enter__()
    finally:
        other.kill()
        other.wait()
    with FolderLock(tmp_path):
        pass
    with FolderLock(tmp_path):  # released at the end of the block
        pass


def test_a_record_file_has_one_writer(tmp_path, monkeypatch):
    monkeypatch.setattr("geobench.records.take", lambda file, what, wait: __import__("geobench.locking").locking.take(file, what))
    with Records(tmp_path / "r.jsonl", {}):
        with pytest.raises(GeoBenchError, match="r.jsonl is in use"):
            Records(tmp_path / "r.jsonl", {})
    Records(tmp_path / "r.jsonl", {}).__exit__()
