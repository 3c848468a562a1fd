"""Order, side by side, failures and stops, with notebooks that are not real ones; how many fit."""

import os
import signal

import pytest

from geobench import schedule
from geobench.dependences import FLOWS
from geobench.errors import GeoBenchError, NotebooksFailed
from geobench.params import load
from geobench.schedule import need_mib, room, run, side_by_side, stoppable
from geobench.shown import Lines


class Fake:
    """A notebook that ends at the `after`-th look."""

    def __init__(self, name, log, folder, after=1):
        self.name, self.log, self.after = name, log, after
        self.units, self.cells = folder / "units", folder / "cells"

    @property
    def ended(self):
        self.after -= 1
        return self.after < 0

    def stop(self):
        self.log.append(("stop", self.name))

    def wait(self):
        self.log.append(("wait", self.name))


@pytest.fixture
def scheduled(tmp_path, monkeypatch):
    """`scheduled(names, workers, failing=..., reused=..., looks=...)`: what began and ended in which order."""
    monkeypatch.setattr(schedule, "PAUSE", 0.0)

    def make(chosen, workers, failing=(), reused=(), looks=None, log=None):
        log = [] if log is None else log

        def begin(name):
            log.append(("reused" if name in reused else "begin", name))
            return None if name in reused else Fake(name, log, tmp_path, ({} if looks is None else looks).get(name, 1))

        def finish(name, notebook):
            log.append(("end", name))
            if name in failing:
                raise GeoBenchError(f"{name} stopped in cell 3: no")

        run(chosen, workers, begin, finish, Lines(lambda _: None))
        return log

    return make


TRACK = ["01_data", "02_white_box", "03_black_box", "05_ranking", "06_detection", "07_statistics"]


def test_one_at_a_time_each_after_those_that_it_waits_for(scheduled):
    log = scheduled(TRACK, 1)
    assert [name for what, name in log if what == "begin"] == TRACK
    assert [what for what, _ in log] == ["begin", "end"] * len(TRACK)


def test_two_run_side_by_side_and_nothing_begins_before_what_it_reads_is_whole(scheduled):
    log = scheduled(TRACK, 2, looks={"02_white_box": 6})
    assert log[:2] == [("begin", "01_data"), ("end", "01_data")]
    assert log[2:4] == [("begin", "02_white_box"), ("begin", "03_black_box")]
    assert log.index(("begin", "05_ranking")) > log.index(("end", "02_white_box")) > log.index(("end", "03_black_box"))
    assert log[-2:] == [("begin", "07_statistics"), ("end", "07_statistics")]


def test_the_longest_chain_begins_first_and_what_is_reused_takes_no_place(scheduled):
    log = scheduled(["01_data", "02_white_box", "05_ranking", "10_released", "11_search_data", "12_search_answers"], 1, reused=["01_data"])
    assert log[:2] == [("reused", "01_data"), ("begin", "02_white_box")] and log[-1] == ("end", "10_released")


def test_a_failed_notebook_leaves_those_that_do_not_wait_for_it(scheduled):
    log = []
    with pytest.raises(NotebooksFailed) as error:
        scheduled([*TRACK, "10_released"], 2, failing=["03_black_box"], log=log)
    said = str(error.value).splitlines()
    assert said == ["03_black_box stopped in cell 3: no", "not run, because of that: 05_ranking, 06_detection, 07_statistics"]
    assert ("end", "02_white_box") in log and ("end", "10_released") in log


def test_a_stop_ends_all_that_run(scheduled):
    log = []
    with pytest.raises(KeyboardInterrupt), stoppable():
        os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        scheduled(TRACK, 2, failing=[], looks=Interrupting(), log=log)
    assert log[-4:] == [("stop", "02_white_box"), ("stop", "03_black_box"), ("wait", "02_white_box"), ("wait", "03_black_box")]


class Interrupting(dict):
    """Looks of notebooks; the third notebook's first look is Ctrl-C."""

    def get(self, name, default):
        return StopAt() if name == "03_black_box" else 1 if name == "01_data" else 9


class StopAt(int):
    def __sub__(self, _):
        raise KeyboardInterrupt


def test_both_signals_stop_with_their_number_and_the_handlers_are_put_back():
    before = signal.getsignal(signal.SIGTERM)
    for number in (signal.SIGINT, signal.SIGTERM):
        with pytest.raises(KeyboardInterrupt) as stopped, stoppable():
            os.kill(os.getpid(), number)
        assert stopped.value.args == (number,) and signal.getsignal(signal.SIGTERM) == before


SMOKE, ALL = load("smoke"), list(FLOWS)


def test_as_many_as_cores_and_memory_allow():
    assert side_by_side(SMOKE, ALL, 2, 20_000, False) == (2, "")
    assert side_by_side(SMOKE, ALL, 16, 20_000, False) == (2, "")  # 2.8 and 2.7 GiB of 6
    assert side_by_side(SMOKE, ALL, 16, 20_000, True) == (1, "")  # they share a GPU
    assert side_by_side(SMOKE, ALL, 16, 100, False) == (1, "")  # one always runs
    assert side_by_side(load("smoke", {"executor": "ray"}), ALL, 16, 20_000, False) == (1, "")


def test_more_workers_than_there_is_room_for_are_one_clear_line():
    four = load("smoke", {"workers": 4})
    assert side_by_side(four, ALL, 16, 20_000, False) == (4, "")
    assert side_by_side(four, ["01_data", "10_released"], 16, 20_000, False) == (2, "")  # there are no more
    assert side_by_side(four, ALL, 2, 20_000, False) == (2, "workers=4: 2 at a time, because this machine has 2 cores")
    assert side_by_side(four, ALL, 1, 20_000, False) == (1, "workers=4: 1 at a time, because this machine has 1 core")
    said = "workers=4: 2 at a time, because one needs up to 2.8 GiB, and 5.9 are free"
    assert side_by_side(four, ALL, 16, 6_000, False) == (2, said)


def test_the_need_is_as_measured_or_that_of_larger_models():
    assert need_mib(SMOKE, "01_data") == 700 and need_mib(SMOKE, "13_guard") == FLOWS["13_guard"].memory
    assert need_mib(load("smoke", {"optimised_on": "qwen2.5-1.5b"}), "02_white_box") > 3000
    assert room(SMOKE, ["10_released"])[0] == 1
