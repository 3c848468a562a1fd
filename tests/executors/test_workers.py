"""Real Ray on this machine: two nodes, one of them killed during the work, and the results are the local executor's.

`tests/run_ray.sh` runs these in an environment that has Ray; without it they are skipped.
"""

import json
import os
import signal
from dataclasses import replace

import pytest
import torch

from geobench import catalog, paths, run
from geobench.agreement import ranker_table
from geobench.catalog import Selected
from geobench.detectors import judge, perplexity
from geobench.editing import make_edits
from geobench.errors import GeoBenchError
from geobench.executors.units import run_units
from geobench.models import open_model, spec
from geobench.params import load
from geobench.ranking import rank_all
from geobench.records import Records
from geobench.scoring import score_all
from geobench.summary import per_target_table

ray = pytest.importorskip("ray", reason="Ray is not installed: tests/run_ray.sh makes an environment that has it")
pytestmark = pytest.mark.slow
READ_OUTS = ("attention", "generate", "cross_encoder")


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes of one CPU each; `.other` is the one that the driver is not on."""
    from ray.cluster_utils import Cluster

    from geobench.executors import workers

    monkeypatch.setenv("PYTHONPATH", str(paths.ROOT / "lib") + os.pathsep + os.environ.get("PYTHONPATH", ""))
    small = {"num_cpus": 1, "object_store_memory": 100_000_000}
    made = Cluster(initialize_head=True, head_node_args=small | {"include_dashboard": False})
    made.other = made.add_node(**small)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    workers._current = None
    ray.shutdown()
    made.shutdown()


def study(folder, cameras, model, **values) -> run.Run:
    """Three lists of four, two targets each, a random tiny decoder in every role."""
    rankers = [f"{model}:{read_out}" for read_out in READ_OUTS]
    small = {"sts_tokens": 3, "sts_steps": 2, "sts_candidates": 2, "zero_shot_tokens": 6, "rewrite_tokens": 8, "tap_tokens": 6,
             "rank_tokens": 12, "generate_variants": None, "generate_orders": 2, "orders": 3, "batch_size": 4}  # fmt: skip
    roles = dict.fromkeys(("attacker", "rewriter", "optimised_on", "judge", "reference_model"), model)
    named = {"rankers": rankers, "main_ranker": rankers[0], "tap_ranker": rankers[0], "optimisation_ranker": rankers[0]}
    methods = {"white_box": ["sts"], "black_box": ["zero_shot", "tap"], "rewrites": ["fluency", "quotes"], "controls": ["padding"]}
    made = run.Run(folder, load("smoke", small | roles | named | methods | values))
    lists = [replace(cameras, name=name, items=cameras.items[n:] + cameras.items[:n]) for n, name in enumerate(("a", "b", "c"))]
    catalog.write_catalog(folder / "catalog.jsonl", [Selected(lst, (1, 3)) for lst in lists])
    return made


def work_through(made: run.Run) -> None:
    p = made.params
    make_edits(made, [*p.white_box, *p.black_box, *p.rewrites, *p.controls])
    for ranker in p.rankers:
        rank_all(made, ranker)
    name, limit = p.judge, 512
    score_all(made, "perplexity", perplexity.identity(spec(name), limit),
              lambda texts, names: perplexity.score(open_model(name), texts, limit, names), [name])  # fmt: skip
    score_all(made, "judge", judge.identity(spec(name)), lambda texts, names: judge.score(open_model(name), texts, names), [name])


def tables(made: run.Run) -> list[str]:
    return [t.to_csv() for t in (ranker_table(made, made.params.rankers), per_target_table(made))]


def records(folder) -> dict[str, list[str]]:
    """Every file's records in any order, without the seconds that they took."""
    files = [f for kind in ("edits/*.jsonl", "ranks/*/*.jsonl", "scores/*.jsonl") for f in sorted(folder.glob(kind))]
    rows = {f: [json.loads(line) for line in f.read_text().splitlines()] for f in files}
    spent = dict.fromkeys(("seconds", "peak_mib"), 0)
    return {str(f.relative_to(folder)): sorted(json.dumps(r | spent, sort_keys=True) for r in rows[f]) for f in files}


def test_a_node_that_dies_changes_nothing(cluster, tiny_model, cameras, tmp_path, monkeypatch):
    model, threads = tiny_model("llama").spec.weights, torch.get_num_threads()
    torch.set_num_threads(1)  # as a worker of one CPU has: the last digits of a sum depend on it
    alone = study(tmp_path / "local", cameras, model)
    work_through(alone)
    torch.set_num_threads(threads)
    spread, written, real = study(tmp_path / "ray", cameras, model, executor="ray", ray_tasks="target"), [], Records.append

    def append(self, record):
        real(self, record)
        written.append((self.path.name, self.key_of(record)))
        if len(written) == 3:  # in the middle of the first method
            cluster.remove_node(cluster.other, allow_graceful=False)
            cluster.other = cluster.add_node(num_cpus=1, object_store_memory=100_000_000)

    monkeypatch.setattr(Records, "append", append)
    work_through(spread)
    assert records(tmp_path / "ray") == records(tmp_path / "local") and len(records(tmp_path / "ray")) > 20
    assert tables(spread) == tables(alone)


def test_workers_hold_their_model_and_a_killed_one_is_replaced(cluster):
    settings = load("smoke", {"executor": "ray"})

    def work(units):
        for unit in units:
            yield unit * 2, os.getpid()

    found, pids = {}, []
    for unit, (result, pid), _ in run_units(settings, work, range(40), ["smollm2-135m"], lambda u: (u // 4, u)):
        assert unit not in found
        found[unit] = result
        pids.append(pid)
        if len(found) == 10:
            os.kill(pid, signal.SIGKILL)
    assert found == {n: 2 * n for n in range(40)} and 2 <= len(set(pids)) <= 3


def test_a_piece_that_kills_every_worker_is_named(cluster):
    def work(units):
        yield 0
        os.kill(os.getpid(), signal.SIGKILL)

    settings = load("smoke", {"executor": "ray", "ray_retries": 1})
    with pytest.raises(GeoBenchError, match=r"2 workers were lost over one piece of work \(\d units left; ray_retries=1\)"):
        list(run_units(settings, work, range(3), ["smollm2-135m"], lambda u: ("a", u)))


def test_an_error_in_the_work_is_the_same_error_here(cluster):
    def work(units):
        for unit in units:
            if unit == 2:
                raise GeoBenchError("kitchen/kettles item 2: too long")
            yield unit

    settings, found = load("smoke", {"executor": "ray", "ray_workers": 1}), []
    with pytest.raises(GeoBenchError, match="^kitchen/kettles item 2: too long$"):
        found += [unit for unit, *_ in run_units(settings, work, [1, 2, 3], ["smollm2-135m"])]


def test_more_than_the_cluster_has_is_refused(cluster, monkeypatch):
    from geobench.executors import workers

    monkeypatch.setattr(workers, "PATIENCE", 3.0)
    with pytest.raises(GeoBenchError, match="no worker could be started in 3 s; each needs ray_cpus=8 and ray_gpus=0"):
        list(run_units(load("smoke", {"executor": "ray", "ray_cpus": 8.0}), lambda units: units, [1], ["smollm2-135m"]))
