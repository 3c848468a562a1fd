"""Units of work: in order here, cut into pieces for workers, and never sent away where that gains nothing."""

import sys
from types import SimpleNamespace

import pytest

from geobench.errors import GeoBenchError
from geobench.executors.units import pieces, run_units

LOCAL, RAY = SimpleNamespace(executor="local"), SimpleNamespace(executor="ray", ray_tasks="list")


def doubled(units):
    return (2 * unit for unit in units)


def test_here_results_come_in_order_with_their_seconds():
    found = list(run_units(LOCAL, doubled, [3, 1, 2], ["smollm2-135m"]))
    assert [(unit, result) for unit, result, _ in found] == [(3, 6), (1, 2), (2, 4)] and all(s >= 0 for *_, s in found)


def test_without_units_nothing_is_opened():
    def opens(units):
        raise AssertionError

    assert list(run_units(LOCAL, opens, [])) == []


@pytest.mark.parametrize("models", [[], ["gpt-4o-mini"], ["smollm2-135m", "gpt-4o-mini"]])
def test_work_without_a_model_or_with_an_api_stays_here(models):
    assert [result for _, result, _ in run_units(RAY, doubled, [1, 2], models)] == [2, 4]


def test_without_ray_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    from geobench.executors import workers

    monkeypatch.setattr(workers, "_current", None)
    settings = SimpleNamespace(executor="ray", ray_tasks="list", model_dump=dict)
    with pytest.raises(GeoBenchError, match="executor: ray: the package `ray` is not installed .*pip install"):
        list(run_units(settings, doubled, [1], ["smollm2-135m"]))


def test_pieces_are_lists_or_targets_wherever_their_units_stand():
    units = [("a", 1), ("b", 1), ("a", 2), ("a", 1)]
    assert pieces(units, lambda u: u, "list") == [[(0, ("a", 1)), (2, ("a", 2)), (3, ("a", 1))], [(1, ("b", 1))]]
    assert [[n for n, _ in piece] for piece in pieces(units, lambda u: u, "target")] == [[0, 3], [1], [2]]
