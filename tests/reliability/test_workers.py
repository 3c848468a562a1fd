"""Notebooks side by side: the same bytes with 1, 2 and 4 workers, after a stop by either signal, and beside a notebook that fails."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SETTINGS = ("datasets=[kitchen,outdoor]", "targets_per_list=2", "rankers=[bm25]", "main_ranker=bm25", "white_box=[]", "black_box=[]",
            "rewrites=[]", "resamples=50")  # fmt: skip
ONLY = ["--only", "01", "02", "03", "04", "05", "10"]
WIDE = """
import sys
from geobench import runner
from geobench.__main__ import main
runner.room = lambda *_: (int(sys.argv[1]), "")  # whatever this machine has
sys.exit(main(sys.argv[2:]))
"""


def command(workers: int, run: str, *more: str) -> list[str]:
    words = [word for setting in (*SETTINGS, *more) for word in ("-p", setting)]
    return ["-c", WIDE, str(workers), "run", "--run", run, *ONLY, *words]


def made(folder: Path) -> dict[str, bytes]:
    """Records, tables and figures of a run; costs of edits aside."""
    kinds = ("catalog.jsonl", "*.csv", "ranks/*/*", "tables/*", "figures/*")
    return {f.relative_to(folder).as_posix(): f.read_bytes() for kind in kinds for f in sorted(folder.glob(kind))}


def descendants(process: int) -> list[int]:
    """Ids of all processes that come from one, by /proc."""
    parents: dict[int, list[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents.setdefault(int(file.read_text().rpartition(")")[2].split()[1]), []).append(int(file.parent.name))
        except OSError:  # it has just ended
            continue
    below = parents.get(process, [])
    return [*below, *(one for child in below for one in descendants(child))]


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ended(process) -> str:
    said = process.communicate(timeout=600)[0]
    assert process.returncode == 0, said
    return said


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_same_bytes_with_any_number_of_workers_and_after_stops(child, tmp_path):
    where = {"GEOBENCH_RESULTS": str(tmp_path)}
    ended(child(*command(1, "one"), **where))
    alone = made(tmp_path / "one")
    assert len(alone) > 10
    for workers in (2, 4):
        said = ended(child(*command(workers, f"w{workers}"), **where))
        assert made(tmp_path / f"w{workers}") == alone and "[6/6]" in said
    for number in (signal.SIGINT, signal.SIGTERM):
        stopped = child(*command(4, "stopped"), **where)
        wait = time.monotonic() + 60
        while len(descendants(stopped.pid)) < 4 and time.monotonic() < wait:
            time.sleep(0.05)
        time.sleep(2)
        below = descendants(stopped.pid)
        os.kill(stopped.pid, number)
        said = stopped.communicate(timeout=60)[0]
        assert stopped.returncode == 128 + number and said.endswith("stopped; everything finished is kept, the same command resumes\n")
        time.sleep(2)
        assert len(below) >= 2 and [one for one in below if alive(one)] == []
    ended(child(*command(4, "stopped"), **where))
    assert made(tmp_path / "stopped") == alone
    assert set(os.listdir(tmp_path / "stopped" / "notebooks")) == set(os.listdir(tmp_path / "one" / "notebooks"))


def test_a_failing_notebook_stops_those_that_wait_for_it_alone(child, tmp_path):
    folder = tmp_path / "r"
    (folder / "edits").mkdir(parents=True)
    (folder / "edits" / "injection.jsonl").write_text("no record\n")
    failed = child(*command(2, "r"), GEOBENCH_RESULTS=str(tmp_path))
    said = failed.communicate(timeout=600)[0].splitlines()
    errors = [line for line in said if line.startswith("error: ")]
    assert failed.returncode == 1 and len(errors) == 2
    assert errors[0].startswith("error: 03_black_box stopped in cell ") and "injection.jsonl:1: not a JSON record" in errors[0]
    assert errors[1] == "error: not run, because of that: 05_ranking"
    assert {f.stem for f in (folder / "manifests").iterdir()} == {"01_data", "02_white_box", "04_rewrites", "10_released"}
