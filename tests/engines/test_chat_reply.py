import pytest

from geobench.engines.chat_reply import Unusable, read, servable, usage_of


def body(model="mini", finish="stop", **message):
    return {"model": model, "choices": [{"finish_reason": finish, "message": {"content": " hi ", **message}}]}


@pytest.mark.parametrize("answers", ["mini", "mini-2024-07-18", "alias"])
def test_the_models_names(answers):
    assert read(body(answers), "mini", ["alias"], (3, 1)) == {
        "text": "hi", "finish": "stop", "model": answers, "tokens_in": 3, "tokens_out": 1,
    }


@pytest.mark.parametrize("made", [
    body("mini-large"), body("max"), body(None), {"model": "mini"}, {"model": "mini", "choices": []}, {"model": "mini", "choices": [7]},
    {"model": "mini", "choices": [{"message": None}]}, body(content=[1]), [], None, "text", 5,
])  # fmt: skip
def test_what_is_no_answer(made):
    with pytest.raises(Unusable):
        read(made, "mini", [], (0, 0))


@pytest.mark.parametrize("made, finish, served", [
    (body(), "stop", True), (body(finish="length"), "length", False), (body(finish="content_filter"), "filtered", False),
    (body(refusal="No."), "filtered", False), (body(content=None), "stop", False), (body(content=""), "stop", False),
])  # fmt: skip
def test_how_it_ended_and_whether_it_is_served(made, finish, served):
    reply = read(made, "mini", [], (0, 0))
    assert reply["finish"] == finish and servable(reply) == served


@pytest.mark.parametrize("usage, want", [
    ({"prompt_tokens": 5, "completion_tokens": 2}, (5, 2)), ({"prompt_tokens": 5}, None), (None, None), ("x", None),
    ({"prompt_tokens": 10**30, "completion_tokens": 2}, None), ({"prompt_tokens": 5, "completion_tokens": float("inf")}, None),
    ({"prompt_tokens": -1, "completion_tokens": 2}, None), ({"prompt_tokens": 0, "completion_tokens": 10**12}, (0, 10**12)),
])  # fmt: skip
def test_usage(usage, want):
    assert usage_of({"usage": usage}) == want


def test_half_a_character_is_replaced():
    assert read(body(content="a\ud800b \U0001f600"), "mini", [], (0, 0))["text"] == "a\ufffdb \U0001f600"
