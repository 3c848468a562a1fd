"""Calls to a server that misbehaves: nothing lost, nothing doubled, nothing paid twice, nothing over the limit."""

import random

import pytest

from geobench.engines.decoding import Decoding
from geobench.errors import GeoBenchError
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker

GREEDY = Decoding(20)
FAULTS = [429, 500, 503, "malformed", "endless", "half", "other model", "no choices", "silence"]


def test_a_second_run_asks_nothing_and_pays_nothing(api_model, server, chats):
    api_model().generate(chats(4), GREEDY)
    again = api_model(run="other")
    assert [r.text for r in again.generate(chats(4), GREEDY)] == [f"1. question {i}" for i in range(4)]
    assert len(server.asked) == 4 and again.store.spent("other") == 0 and again.store.spent("r") > 0
    again.generate(chats(1), Decoding(21))
    assert len(server.asked) == 5


def test_requests_fly_together_but_no_more_than_allowed(api_model, server, chats):
    server.delay = 0.05
    api_model(concurrency=3).generate(chats(12), GREEDY)
    assert server.flying == 3


@pytest.mark.parametrize("fault", FAULTS)
def test_a_passing_fault_is_tried_again(api_model, server, fault, chats, known):
    server.fault = lambda n: fault if n == 0 else None
    engine = api_model()
    assert engine.generate(chats(1), GREEDY)[0].text == "1. question 0" and len(server.asked) == 2
    assert known(engine)[:2] == tuple(server.billed)
    unseen = engine.store._read("select count(*) from costs where not known")[0][0]
    assert unseen == (fault in ("malformed", "endless", "half", "silence"))  # the server may have billed these


@pytest.mark.parametrize("fault", FAULTS)
def test_a_lasting_fault_ends_within_the_budget_of_requests(api_model, server, fault, chats):
    server.fault = lambda n: fault
    engine = api_model(attempts=3, timeout=0.1)
    with pytest.raises(GeoBenchError, match="tests/x item 1: no usable reply of `mini` in 3 requests; last: ") as error:
        engine.generate(chats(1), GREEDY, names=["tests/x item 1"])
    assert len(server.asked) == 3 and "sk-secret" not in str(error.value) and not list(engine.store.rows())


def test_the_last_fault_is_named_even_inside_the_clients_own_retries(api_model, server, chats):
    server.fault = lambda n: 503
    with pytest.raises(GeoBenchError, match="in 2 requests; last: HTTP 503"):
        api_model(attempts=2, retries=5).generate(chats(1), GREEDY)


def test_an_empty_account_is_not_hammered(api_model, server, chats):
    server.fault, server.code = (lambda n: 429), "insufficient_quota"
    with pytest.raises(GeoBenchError, match="prompt 1: `mini`: out of quota"):
        api_model(retries=0).generate(chats(1), GREEDY)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_not_tried_again_and_shows_no_key(api_model, server, status, chats):
    server.fault = lambda n: status
    with pytest.raises(GeoBenchError, match="prompt 1: `mini` refused the request: .*made to fail") as error:
        api_model().generate(chats(1), GREEDY)
    assert len(server.asked) == 1 and "sk-secret" not in str(error.value)


def test_no_key_is_named(api_model, monkeypatch):
    with pytest.raises(GeoBenchError, match="the environment variable NO_SUCH_KEY is not set"):
        api_model(key_env="NO_SUCH_KEY")
    assert api_model(key_env=None)


def test_max_cost_stops_before_it_is_passed_and_resumes(api_model, server, chats):
    one = api_model(file="price.sqlite")
    one.generate(chats(1), GREEDY)
    limit = 10 * one.store.spent("r")
    server.asked.clear()
    engine = api_model(limit=limit, concurrency=1)
    with pytest.raises(GeoBenchError, match="stopped before max_cost: .* raise max_cost and run again"):
        engine.generate(chats(30), GREEDY)
    done = len(server.asked)
    assert 3 <= done < 10 and engine.store.spent("r") <= limit
    assert [r.text for r in api_model(limit=1.0).generate(chats(30), GREEDY)] == [f"1. question {i}" for i in range(30)]
    assert len(server.asked) == 30  # what was paid for was not asked again


def test_replies_that_never_came_whole_count_against_max_cost(api_model, server, chats):
    server.fault = lambda n: "half"
    engine = api_model(limit=0.001, attempts=100)
    with pytest.raises(GeoBenchError, match="stopped before max_cost"):
        engine.generate(chats(1), GREEDY)
    assert 0.0005 < engine.store.spent("r") <= 0.001


def test_max_cost_without_prices_is_refused(api_model, server, chats):
    with pytest.raises(GeoBenchError, match="max_cost: model `mini` has no `api: prices:`"):
        api_model(limit=1.0, prices=None).generate(chats(1), GREEDY)
    assert not server.asked and api_model(prices=None).generate(chats(1), GREEDY)


@pytest.mark.parametrize("retries", [0, 2])
def test_a_third_of_faults_loses_and_doubles_nothing(api_model, server, retries, cameras, tmp_path, known):
    """40 units of 2 rankings each at a fault rate of 30 %, killed twice on the way."""
    from geobench.records import Records, read_records

    draw = random.Random(5)
    drawn = [draw.choice(FAULTS) if draw.random() < 0.3 else None for _ in range(4000)]
    server.fault = lambda n: drawn[n]
    server.text = lambda body: "\n".join(f"{n}. {item.name}" for n, item in enumerate(cameras.items, 1))
    orders = ((0, 1, 2, 3), (3, 2, 1, 0))
    for stop_after in (7, 23, 40):
        ranker = GenerateRanker("mini:generate", api_model(retries=retries, attempts=30, timeout=0.25))
        with Records(tmp_path / "units.jsonl", {"a": 1}, ("unit",)) as records:
            todo = [n for n in range(40) if (n,) not in records.done]
            jobs = (Job(cameras, orders, 1, f"text {n}", "v") for n in todo)
            for n, (_, ranking) in zip(todo, ranker.rank(jobs)):
                records.append({"unit": n, "ranks": ranking.ranks})
                if len(records.done) == stop_after:
                    break
    rows = read_records(tmp_path / "units.jsonl")
    assert [r["unit"] for r in rows] == list(range(40)) and all(r["ranks"] == [[1, 2, 3, 4]] * 2 for r in rows)
    store = ranker.engine.store
    assert len(list(store.rows())) == 80 and all(r["served"] for r in store.rows())
    paid = store._read("select count(*), count(distinct key) from costs where known")[0]
    assert paid[1] == 80 and paid[0] == 80 + server.seen["other model"] + server.seen["no choices"]  # those two are billed as well
    assert known(ranker.engine)[:2] == tuple(server.billed)
    assert sum(v for k, v in server.seen.items() if k) / len(server.asked) > 0.2


def test_a_request_is_bounded_by_its_bytes_and_the_tokens_that_it_may_write(api_model, server):
    server.fault = lambda n: "half"
    engine = api_model(attempts=1, retries=0)
    with pytest.raises(GeoBenchError, match="no usable reply"):
        engine.generate([[{"role": "system", "content": "Rank."}, {"role": "user", "content": "caf\u00e9"}]], GREEDY)
    # 5 bytes and 5 bytes (an accented letter has two), 16 for each message's frame and 16 for the prompt's
    assert engine.store._read("select tokens_in, tokens_out, known from costs") == [(5 + 5 + 16 + 16 + 16, 20, 0)]


def test_pauses_double_and_end_at_a_minute(api_model, server, monkeypatch, chats):
    from types import SimpleNamespace

    from geobench.engines import server as module

    slept: list[float] = []
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=slept.append))
    server.fault = lambda n: 503 if n < 4 else None
    assert api_model(pause=20.0, retries=0).generate(chats(1), GREEDY)[0].text == "1. question 0"
    assert slept == [20.0, 40.0, 60.0, 60.0]
