"""The API engine: what is asked, what is read, and what a model behind a server is refused for."""

import numpy as np
import pytest

from geobench.detectors import judge, perplexity
from geobench.engines.decoding import Decoding
from geobench.errors import GeoBenchError
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker

GREEDY = Decoding(20)


def test_replies_in_order_with_tokens_and_cost(api_model, server, chats, known):
    engine = api_model()
    replies = engine.generate(chats(5), GREEDY)
    assert [r.text for r in replies] == [f"1. question {i}" for i in range(5)]
    assert {(r.finish, r.tokens_out) for r in replies} == {("stop", 3)}
    tokens_in, tokens_out, dollars = known(engine)
    assert (tokens_in, tokens_out) == tuple(server.billed) and tokens_out == 15
    assert dollars == pytest.approx((tokens_in * 1.0 + tokens_out * 10.0) / 1e6)
    assert server.asked[0]["temperature"] == 0 and server.asked[0]["max_tokens"] == 20 and "seed" not in server.asked[0]
    assert server.keys == {"Bearer sk-secret-123456"}


def test_options_of_the_server_s_chat_template_are_sent_and_tell_replies_apart(api_model, server, chats):
    engine, options = api_model(), {"guardian_config": {"criteria_id": "harm"}, "think": False}
    engine.generate(chats(1), GREEDY)
    engine.generate(chats(1) * 2, GREEDY, template=options)
    assert "chat_template_kwargs" not in server.asked[0]
    assert server.asked[1]["chat_template_kwargs"] == options and len(server.asked) == 2


def test_more_of_a_request_is_sent_with_every_call_and_tells_replies_apart(api_model, server, chats):
    api_model().generate(chats(1), GREEDY)
    for _ in range(2):
        api_model(body={"repeat_penalty": 1.0}).generate(chats(1), GREEDY)
    assert [asked.get("repeat_penalty") for asked in server.asked] == [None, 1.0]
    api_model(body={"repeat_penalty": 1.0}).generate(chats(1), GREEDY, template={"think": False})
    assert server.asked[2]["chat_template_kwargs"] == {"think": False} and server.asked[2]["repeat_penalty"] == 1.0


def test_equal_greedy_calls_are_asked_once_and_samples_apart(api_model, server, chats):
    engine = api_model()
    assert len({r.text for r in engine.generate(chats(1) * 6, GREEDY)}) == 1 and len(server.asked) == 1
    engine.generate(chats(1) * 3, Decoding(20, 0.7, 0.9), seeds=[1, 2, 2**40])
    assert sorted(b["seed"] for b in server.asked[1:]) == sorted([1, 2, 2**40 % 2**31]) and server.asked[1]["top_p"] == 0.9


@pytest.mark.parametrize("finish, text, want", [("length", "1. Alp", "length"), ("content_filter", "", "filtered"), ("stop", " ", "stop")])
def test_cut_filtered_and_empty_replies_are_told_apart_and_never_served(api_model, server, finish, text, want, chats):
    server.finish, server.text = finish, lambda body: text
    engine = api_model()
    for asked in (1, 2):
        reply = engine.generate(chats(1), GREEDY)[0]
        assert (reply.finish, reply.text, len(server.asked)) == (want, text.strip(), asked)


def test_a_filtered_ranking_says_so(api_model, server, cameras):
    server.finish, server.text = "content_filter", lambda body: ""
    _, ranking = next(iter(GenerateRanker("mini:generate", api_model()).rank([Job(cameras, ((0, 1, 2, 3),))])))
    assert ranking.finish == ["filtered"] and ranking.status == ["empty"] and ranking.ranks == [[5, 5, 5, 5]]


def test_control_tokens_do_not_leave(api_model, server):
    api_model().generate([[{"role": "user", "content": "a<|im_end|>b"}]], GREEDY)
    assert server.asked[0]["messages"][0]["content"] == "a< |im_end|>b"


def test_a_prompt_that_cannot_fit_is_named(api_model, server):
    with pytest.raises(GeoBenchError, match="prompt 1: about 252 tokens and 20 to generate do not fit the 200 of `mini`"):
        api_model(context=200).generate([[{"role": "user", "content": "x" * 1005}]], GREEDY)
    assert not server.asked


# --- log-probabilities ---------------------------------------------------------------------------------------------------------

TOP = {"content": [{"token": "Yes", "logprob": -0.25, "top_logprobs": [
    {"token": "Yes", "logprob": -0.25}, {"token": "No", "logprob": -1.75}, {"token": "Maybe", "logprob": -5.0}]}]}  # fmt: skip


def test_the_judge_reads_its_log_odds(api_model, server):
    server.logprobs, engine = TOP, api_model(top_logprobs=20)
    (row,) = judge.score(engine, ["A bright lens."], ["a"])
    yes, no = np.logaddexp.reduce([-0.25, -5, -5]), np.logaddexp.reduce([-1.75, -5, -5])  # unlisted spellings at the lowest listed
    assert row["score"] == pytest.approx(yes - no, abs=1e-5)
    assert server.asked[0]["top_logprobs"] == 20 and server.asked[0]["max_tokens"] == 1
    assert list(judge.score(engine, ["A bright lens."], ["a"])) == [row] and len(server.asked) == 1


def test_a_server_without_log_probabilities_is_refused(api_model, server):
    with pytest.raises(GeoBenchError, match=r"item 3: `mini` is served over an API, which does not give log-prob.*top_logprobs.* is 0"):
        list(judge.score(api_model(), ["text"], ["item 3"]))
    assert not server.asked
    with pytest.raises(GeoBenchError, match="item 3: `mini` was asked for log-probabilities and gave none"):
        list(judge.score(api_model(top_logprobs=5), ["text"], ["item 3"]))
    server.logprobs = TOP | {"content": [TOP["content"][0] | {"top_logprobs": [{"token": "Hm", "logprob": -0.1}]}]}
    with pytest.raises(GeoBenchError, match="item 3: none of .* is among the likeliest tokens"):
        list(judge.score(api_model(top_logprobs=5), ["text"], ["item 3"]))


def test_what_needs_a_model_in_reach_refuses_an_api(api_model, cameras, tmp_path, chats):
    from geobench.attacks import optimise, sts
    from geobench.attacks.base import Task
    from geobench.params import load
    from geobench.search.likelihood import margins

    engine = api_model()
    with pytest.raises(GeoBenchError, match="does not give log-probabilities of a given text"):
        list(perplexity.score(engine, ["text"]))
    with pytest.raises(GeoBenchError, match="sts needs gradients of a local .*OpenAIModel gives none"):
        list(optimise.run(sts, [Task(cameras, 1)], engine, None, load("smoke"), tmp_path, {}))
    with pytest.raises(GeoBenchError, match="does not give the tokens of a prompt"):
        margins(engine, chats(1)[0], [("a", "b")])


def test_a_run_edits_ranks_and_judges_through_an_api(api_model, server, tmp_path, monkeypatch):
    """The library's own path from a registry row to records, with the run's budget; what it was charged is in the store."""
    from geobench import editing, models, paths, ranking, scoring
    from geobench.engines.budget import CURRENT
    from geobench.models import ModelSpec
    from geobench.records import read_records
    from geobench.run import open_run

    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    monkeypatch.setenv("GEOBENCH_REPLIES", str(tmp_path / "shared.sqlite"))
    api = {"base_url": server.url, "key_env": "TEST_API_KEY", "prices": {"input": 1.0, "output": 10.0}, "top_logprobs": 20}
    row = ModelSpec("mini", "openai:mini", engine="openai", read_outs=("generate", "cross_encoder"), api=api)
    monkeypatch.setattr(models, "registry", lambda path=None, known=models.registry(): {**known, "mini": row})
    monkeypatch.setattr(models, "_open", {})
    names = ["mini:generate", "mini:cross_encoder"]
    values = {
        "datasets": ["kitchen"], "lists_per_dataset": 1, "rankers": names, "main_ranker": names[0], "tap_ranker": names[0],
        "attacker": "mini", "rewriter": "mini", "judge": "mini", "white_box": [],
        "black_box": ["zero_shot", "tap"], "rewrites": ["fluency"],
        "generate_variants": None, "max_cost": 1.0,
    }  # fmt: skip
    server.logprobs = TOP
    work = open_run("apirun", **values)
    work.choose()
    variants = editing.make_edits(work, ["zero_shot", "tap"]) + editing.make_edits(work, ["fluency"])
    assert variants == ["zero_shot__mini", "tap__mini", "fluency__mini"]
    for name in names:
        ranking.rank_all(work, name)
    engine = models.open_model("mini")
    scoring.score_all(work, "judge", judge.identity(engine), lambda texts, names: judge.score(engine, texts, names))
    assert all(len(read_records(work.folder / "ranks" / n.replace(":", ".") / "tap__mini.jsonl")) == 1 for n in names)
    assert len(read_records(work.folder / "scores" / "judge.jsonl")) == 4
    assert CURRENT.limit == 1.0 and 0 < engine.store.spent(CURRENT.run) < 1.0 and CURRENT.run.endswith("apirun")
    CURRENT.begin("no run", None)


def test_a_seed_tells_samples_apart_and_greedy_replies_not(api_model, server, chats):
    engine = api_model()
    engine.generate(chats(1) * 2, GREEDY, seeds=[1, 2])
    engine.generate(chats(1) * 2, Decoding(20, 0.5), seeds=[1, 2])
    asked = [row["asked"] for row in engine.store.rows()]
    assert sorted((a["decoding"]["temperature"], a["sample"]) for a in asked) == [(0.0, 0), (0.5, 1), (0.5, 2)]
