"""A disk that fills up stops a run cleanly, and the same command resumes it."""

import json
import os
import resource
import signal
import subprocess
import sys

import pytest

from geobench.errors import GeoBenchError
from geobench.records import Records, read_records

pytestmark = pytest.mark.slow
SETTINGS = ("datasets=[kitchen,outdoor]", "rankers=[bm25]", "main_ranker=bm25", "white_box=[]", "black_box=[]", "rewrites=[]")
RUN = ["-m", "geobench", "run", "--only", "01", "03", "05", *(word for setting in SETTINGS for word in ("-p", setting)), "--run", "r"]


@pytest.fixture
def small_disk(tmp_path):
    """`small_disk(size)`: a folder on a file system of that size; a second call grows it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = []

    def mount(size: str):
        option = f"remount,size={size}" if mounted else f"size={size}"
        if subprocess.run(["mount", "-t", "tmpfs", "-o", option, "none", str(folder)], capture_output=True).returncode:
            pytest.skip("this user may not mount a small file system")
        mounted.append(size)
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


def test_records_stop_at_a_full_disk_with_everything_finished_kept(small_disk):
    file, made = small_disk("64k") / "r.jsonl", []
    with pytest.raises(GeoBenchError, match="could not write \\(No space left on device\\); everything finished before is kept"):
        with Records(file, {"a": 1}, ("n",)) as records:
            for n in range(1000):
                records.append({"n": n, "text": "x" * 700})
                made.append(n)
    assert [r["n"] for r in read_records(file)] == made and 50 < len(made) < 100
    small_disk("4m")
    with Records(file, {"a": 1}, ("n",)) as records:
        for n in range(1000):
            if (n,) not in records.done:
                records.append({"n": n, "text": "x" * 700})
    assert [r["n"] for r in read_records(file)] == list(range(1000))


def test_a_file_that_may_not_grow_stops_cleanly_too(tmp_path):
    """A quota or a limit on a file's size."""
    code = f"""
import signal
from geobench.records import Records
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Records({str(tmp_path / "r.jsonl")!r}, {{"a": 1}}, ("n",)) as records:
    for n in range(100):
        records.append({{"n": n, "text": "x" * 700}})
"""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # noqa: E731
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=limit)
    assert "GeoBenchError" in done.stderr and "could not write (File too large)" in done.stderr and signal.SIGXFSZ
    assert [r["n"] for r in read_records(tmp_path / "r.jsonl")] == list(range(27))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The folder of the same run with room enough."""
    folder = tmp_path_factory.mktemp("alone")
    where = os.environ | {"GEOBENCH_RESULTS": str(folder), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, *RUN], env=where, check=True, capture_output=True, timeout=900)
    return folder / "r"


@pytest.mark.parametrize("size", ["16k", "100k", "600k"])
def test_a_run_on_a_full_disk_says_so_and_resumes(small_disk, alone, tmp_path, size):
    """Whatever is written when the disk is full: the catalog, edits, a notebook, ranks or a table."""
    where = os.environ | {"GEOBENCH_RESULTS": str(small_disk(size)), "OMP_NUM_THREADS": "1"}
    full = subprocess.run([sys.executable, *RUN], env=where, capture_output=True, text=True, timeout=900)
    assert full.returncode == 2 and "No space left on device" in full.stderr and "Traceback" not in full.stderr
    assert len(full.stderr.strip().splitlines()) <= 2
    small_disk("64m")
    resumed = subprocess.run([sys.executable, *RUN], env=where, capture_output=True, text=True, timeout=900)
    assert resumed.returncode == 0, resumed.stderr
    files = [f.relative_to(alone) for kind in ("tables/*", "ranks/*/*", "catalog.jsonl") for f in alone.glob(kind)]
    assert len(files) > 4 and all((tmp_path / "disk" / "r" / f).read_bytes() == (alone / f).read_bytes() for f in files)
    edits = [sorted((folder / "edits").glob("*.jsonl")) for folder in (tmp_path / "disk" / "r", alone)]
    rows = [[json.loads(line) | {"seconds": 0, "peak_mib": 0} for f in found for line in f.read_text().splitlines()] for found in edits]
    assert rows[0] == rows[1]
