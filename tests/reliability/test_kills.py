"""Killed at random moments, resumed each time: records and tables are those of a run that was left alone.

GEOBENCH_KILLS says how many kills the tests aim at (default 20).
"""

import json
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


ROLES = ("optimised_on", "attacker", "rewriter", "judge", "reference_model")
RANKERS = ("attention", "generate", "cross_encoder")
SMALL = (
    "datasets=[kitchen]", "lists_per_dataset=2", "targets_per_list=2", "white_box=[sts,stealthrank]", "sts_steps=4", "stealthrank_steps=4",
    "rewrites=[fluency,quotes]", "zero_shot_tokens=8", "tap_tokens=8", "rewrite_tokens=12", "rank_tokens=24", "generate_variants=null",
    "orders=2", "generate_orders=1", "batch_size=2", "resamples=50",
)  # fmt: skip


def study(model: str) -> list[str]:
    """Notebooks 01 to 06 on two embedded lists, one tiny decoder in every role."""
    rankers = [f"{model}:{read_out}" for read_out in RANKERS]
    roles = [f"{role}={model}" for role in ROLES]
    roles += [f"{role}={rankers[0]}" for role in ("main_ranker", "tap_ranker", "optimisation_ranker")]
    settings = [*SMALL, *roles, f"rankers=[{','.join([*rankers, 'bm25'])}]"]
    words = [word for setting in settings for word in ("-p", setting)]
    return ["-m", "geobench", "run", "--only", "01", "02", "03", "04", "05", "06", *words, "--run"]


def record_files(folder: Path) -> dict[str, bytes]:
    files = [f for kind in ("edits/*.jsonl", "ranks/*/*.jsonl", "scores/*.jsonl") for f in sorted(folder.glob(kind))]
    return {str(f.relative_to(folder)): f.read_bytes() for f in files}


def without_measurements(data: bytes) -> list[dict]:
    return [json.loads(line) | {"seconds": None, "peak_mib": None} for line in data.splitlines()]


def killed_run(run, where, draw, folder, took: float, child) -> tuple[int, int]:
    """(kills, kills before anything new was finished) of a run that is killed and resumed until it ends or has had its share."""
    kills = idle = 0
    while kills < KILLS / 2:
        before = record_files(folder)
        process = child(*run, folder.name, **where)
        time.sleep(draw.uniform(0.1, 0.35) * took)
        if process.poll() is not None:
            break
        process.end()
        kills += 1
        after = record_files(folder)
        assert all(after[name].startswith(data[: data.rfind(b"\n") + 1]) for name, data in before.items())
        idle += after == before
    done = child(*run, folder.name, **where)
    assert done.wait(1500) == 0, done.communicate()[0]
    return kills, idle


def test_killed_notebooks_give_the_same_records_and_tables(child, tmp_path, roomy_model):
    """No recorded unit is ever made again: what a kill leaves is the beginning of what comes, but for a torn last line."""
    run, where = study(roomy_model), {"GEOBENCH_RESULTS": str(tmp_path), "OMP_NUM_THREADS": "1"}
    draw, kills, idle, rounds, begun = random.Random(4), 0, 0, 0, time.monotonic()
    assert child(*run, "alone", **where).wait(1500) == 0
    took, alone = time.monotonic() - begun, record_files(tmp_path / "alone")
    tables = [f.relative_to(tmp_path / "alone") for f in [*tmp_path.glob("alone/tables/*"), *tmp_path.glob("alone/*.csv")]]
    while kills < KILLS and rounds < 4:
        killed = tmp_path / f"killed{rounds}"
        more, none = killed_run(run, where, draw, killed, took, child)
        kills, idle, rounds = kills + more, idle + none, rounds + 1
        kept = record_files(killed)
        assert alone.keys() == kept.keys() and len(alone) > 30
        assert [name for name in alone if without_measurements(alone[name]) != without_measurements(kept[name])] == []
        assert len(tables) > 10 and all((killed / f).read_bytes() == (tmp_path / "alone" / f).read_bytes() for f in tables)
    lines = sum(data.count(b"\n") for data in alone.values())
    print(f"\n{kills} kills of {rounds} runs ({idle} with nothing new finished)")
    print(f"{len(alone)} record files ({lines} lines), {len(tables)} tables equal")
    assert kills >= min(KILLS, 3)


MODELLESS = (
    "datasets=[kitchen,outdoor]", "targets_per_list=2", "rankers=[bm25]", "main_ranker=bm25", "white_box=[]", "black_box=[]", "rewrites=[]",
)  # fmt: skip
RUN = ["-m", "geobench", "run", "--only", "01", "03", "05", *(word for setting in MODELLESS for word in ("-p", setting)), "--run"]


def test_a_second_run_in_the_same_folder_is_refused(child, tmp_path):
    first = child(*RUN, "shared", GEOBENCH_RESULTS=str(tmp_path))
    while not (tmp_path / "shared" / ".lock").exists() and first.poll() is None:
        time.sleep(0.05)
    time.sleep(0.2)
    second = child(*RUN, "shared", GEOBENCH_RESULTS=str(tmp_path))
    said = second.communicate(timeout=300)[0]
    assert second.returncode == 2 and "is in use by another process" in said and str(first.pid) in said
    assert first.wait(600) == 0
