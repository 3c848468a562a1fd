"""Killed at random moments, resumed each time: records and tables are those of a run that was left alone.

GEOBENCH_KILLS says how many kills the API test aims at (default 20); the notebooks are killed a quarter as often.
"""

import os
import random
import sqlite3
import time
from pathlib import Path

import pytest

KILLS = int(os.environ.get("GEOBENCH_KILLS", "20"))
WORKER = Path(__file__).with_name("api_worker.py")
FAULTS = [429, 500, "malformed", "half", "other model", "no choices", "silence"]
pytestmark = pytest.mark.slow


def uninterrupted(child, server, folder: Path) -> bytes:
    folder.mkdir()
    process = child(WORKER, server.url, folder)
    assert process.communicate(timeout=300)[0].endswith("done\n")
    return (folder / "units.jsonl").read_bytes()


def test_a_killed_api_run_loses_doubles_and_hides_nothing(server, child, tmp_path):
    """At a fault rate of 30 %."""
    server.text = lambda body: "1. Gamma\n2. Alpha\n3. Beta"
    want = uninterrupted(child, server, tmp_path / "alone")
    draw = random.Random(3)
    drawn = [draw.choice(FAULTS) if draw.random() < 0.3 else None for _ in range(20_000)]
    server.asked.clear(), server.seen.clear()
    server.billed, server.delay, server.fault = [0, 0], 0.3, lambda n: drawn[n]
    folder, kills = tmp_path / "killed", 0
    folder.mkdir()
    while kills < KILLS:
        process = child(WORKER, server.url, folder)
        process.stdout.readline()
        time.sleep(draw.uniform(0.0, 0.8))
        if process.poll() is not None:
            break
        process.end()
        kills += 1
    server.delay = 0.0
    assert child(WORKER, server.url, folder).communicate(timeout=300)[0].endswith("done\n")
    assert (folder / "units.jsonl").read_bytes() == want
    db = sqlite3.connect(folder / "replies.sqlite")
    assert db.execute("select count(*), sum(served) from replies").fetchone() == (80, 80)
    paid, bounds = (db.execute("select coalesce(sum(dollars), 0), count(*) from costs where known = ?", (k,)).fetchone() for k in (1, 0))
    billed = (server.billed[0] * 1.0 + server.billed[1] * 10.0) / 1e6
    assert paid[0] <= billed + 1e-12 <= paid[0] + bounds[0]  # what was billed unseen is inside the bounds
    print(f"\n{kills} kills, {len(server.asked)} requests, {bounds[1]} bounds, paid {paid[0]:.6f} of {billed:.6f} billed")
    assert kills >= min(KILLS, 3)


SETTINGS = (
    "datasets=[kitchen,outdoor]", "targets_per_list=2", "rankers=[bm25]", "main_ranker=bm25", "white_box=[]", "black_box=[]", "rewrites=[]",
)
RUN = ["-m", "geobench", "run", "--only", "01", "03", "05", *(word for setting in SETTINGS for word in ("-p", setting)), "--run"]


def test_killed_notebooks_give_the_same_tables(child, tmp_path):
    """Model-less notebooks: the data, the controls and their ranks."""
    draw, kills, where = random.Random(4), 0, {"GEOBENCH_RESULTS": str(tmp_path)}
    begun = time.monotonic()
    assert child(*RUN, "alone", **where).wait(600) == 0
    took = time.monotonic() - begun
    while kills < max(1, KILLS // 4):
        process = child(*RUN, "killed", **where)
        time.sleep(draw.uniform(0.2, 0.9) * took)
        if process.poll() is not None:
            break
        process.end()
        kills += 1
    assert child(*RUN, "killed", **where).wait(600) == 0
    alone = tmp_path / "alone"
    kept = [f.relative_to(alone) for kind in ("tables/*", "ranks/*/*", "catalog.jsonl") for f in alone.glob(kind)]
    assert len(kept) > 5
    assert all((tmp_path / "killed" / f).read_bytes() == (tmp_path / "alone" / f).read_bytes() for f in kept)
    edits = [sorted(tmp_path.glob(f"{run}/edits/*.jsonl")) for run in ("alone", "killed")]
    assert [f.name for f in edits[0]] == [f.name for f in edits[1]]
    print(f"\n{kills} kills, {len(kept)} files equal")


def test_a_second_run_in_the_same_folder_is_refused(child, tmp_path):
    first = child(*RUN, "shared", GEOBENCH_RESULTS=str(tmp_path))
    while not (tmp_path / "shared" / ".lock").exists() and first.poll() is None:
        time.sleep(0.05)
    time.sleep(0.2)
    second = child(*RUN, "shared", GEOBENCH_RESULTS=str(tmp_path))
    said = second.communicate(timeout=300)[0]
    assert second.returncode == 2 and "is in use by another process" in said and str(first.pid) in said
    assert first.wait(600) == 0
