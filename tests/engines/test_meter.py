"""One call's requests in the store, by hand: bounds before sending, then what they cost."""

from types import SimpleNamespace

import pytest

from geobench.engines.api import ApiSettings
from geobench.engines.budget import Budget
from geobench.engines.meter import Meter, OutOfAttempts
from geobench.errors import GeoBenchError
from geobench.replies import ReplyStore


@pytest.fixture
def meter(tmp_path):
    budget = Budget()
    budget.begin("r", 1000.0)
    api = ApiSettings(prices={"input": 1.0, "output": 2.0}, attempts=3)
    engine = SimpleNamespace(api=api, budget=budget, store=ReplyStore(tmp_path / "r.sqlite"), spec=SimpleNamespace(name="mini"))
    return Meter(engine, "item", {"model": {"model": "mini"}}, (100, 50))  # at most (100 * 1 + 50 * 2) / 1e6 dollars a request


def costs(meter) -> list[tuple]:
    return [(round(d * 1e6), k) for d, k in meter.engine.store._read("select dollars, known from costs order by number")]


def test_a_bound_stands_from_sending_on_and_gives_way_to_the_cost(meter):
    meter.send()
    assert costs(meter) == [(200, 0)]
    meter.billed((10, 5), {"text": "x"}, True)
    meter.close()
    assert costs(meter) == [(20, 1)] and len(list(meter.engine.store.rows())) == 1


def test_a_refused_request_costs_nothing_and_an_unseen_one_its_bound(meter):
    meter.send()
    meter.refused()
    meter.send()  # no answer ever came
    meter.send()
    meter.billed((10, 5), None)
    with pytest.raises(OutOfAttempts):
        meter.send()
    meter.close()
    assert sorted(costs(meter)) == [(20, 1), (200, 0)]
    assert meter.engine.budget._paid == pytest.approx(220e-6) and meter.engine.budget._reserved == pytest.approx(0)


def test_a_reply_without_counts_is_charged_at_the_bound_of_the_request_that_it_answers(meter):
    meter.send()  # its answer never came
    meter.send()
    meter.billed(None, {"text": "x"}, True)
    shown = meter.engine.store._read("select number, tokens_in, tokens_out, known from costs order by number")
    assert shown == [(1, 100, 50, 0), (3, 100, 50, 0)]  # number 2, the answered one, gave way to 3


def test_counts_that_the_server_states_stand_in_the_store(meter):
    meter.send()
    meter.billed((10, 5), {"text": "x"}, True)
    assert meter.engine.store._read("select tokens_in, tokens_out, known from costs") == [(10, 5, 1)]


def test_a_reply_without_token_counts_is_charged_at_its_bound_and_marked(meter):
    meter.send()
    meter.billed(None, {"text": "x"}, True)
    assert costs(meter) == [(200, 0)] and meter.engine.budget._paid == pytest.approx(200e-6)
    assert meter.engine.store._read("select tokens_in, tokens_out from costs") == [(100, 50)]


def test_a_useless_reply_is_paid_and_not_kept(meter):
    meter.send()
    meter.billed((30, 20), None)
    assert costs(meter) == [(70, 1)] and list(meter.engine.store.rows()) == []  # 30 * 1 + 20 * 2
    assert meter.engine.budget._reserved == pytest.approx(0)


def test_without_prices_nothing_is_charged_and_a_limit_is_refused(meter):
    engine = meter.engine
    engine.api = ApiSettings(attempts=3)
    with pytest.raises(GeoBenchError, match="max_cost: model `mini` has no `api: prices:`"):
        Meter(engine, "item", {"model": {"model": "mini"}}, (100, 50))
    engine.budget.begin("r", None)
    free = Meter(engine, "item", {"model": {"model": "mini"}}, (100, 50))
    free.send()
    free.billed((10, 5), {"text": "x"}, True)
    assert costs(free) == [(0, 1)] and engine.budget._paid == 0
