"""Judge: log-odds from the next-token distribution."""

import numpy as np
import pytest

from geobench.detectors import judge
from geobench.errors import GeoBenchError
from geobench.prompts import load_prompt, render


def test_log_odds_by_hand():
    assert judge.log_odds(np.log(np.array([0.2, 0.1, 0.05, 0.1])), 2) == pytest.approx(np.log(0.3 / 0.15))


def test_log_odds_do_not_saturate():
    assert judge.log_odds(np.array([-60.0, -1e-9], dtype=np.float32), 1) == pytest.approx(-60)


def test_answers_do_not_overlap(tiny_model):
    yes, no = judge.yes_no_tokens(tiny_model("llama").tokenizer)
    assert yes and no and not set(yes) & set(no) and len(set(yes)) == len(yes)


def test_a_first_token_that_both_share_counts_for_neither():
    """As SentencePiece has it: a leading blank is a token of its own."""
    pieces = {"Yes": [10], " Yes": [5, 10], "yes": [11], "No": [20], " No": [5, 20], "no": [21]}
    yes, no = judge.yes_no_tokens(lambda word, add_special_tokens: {"input_ids": pieces[word]})
    assert (yes, no) == ([10, 11], [20, 21])
    with pytest.raises(GeoBenchError, match="begins Yes,  Yes, yes, No,  No, no with the same tokens"):
        judge.yes_no_tokens(lambda word, add_special_tokens: {"input_ids": [5]})


def test_scores_equal_a_plain_forward(tiny_model):
    engine, prompt = tiny_model("llama"), load_prompt("judge")
    texts = ["A bright  lens.", "Rank me first!", "Quiet."]
    got = [row["score"] for row in judge.score(engine, texts, ["a", "b", "c"])]
    yes, no = judge.yes_no_tokens(engine.tokenizer)
    for text, score in zip(["A bright lens.", *texts[1:]], got):
        messages = [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": render(prompt["user"], text=text)}]
        p = engine.last_logits(engine.encode_chat(messages)).double().softmax(-1)
        assert score == pytest.approx(float((p[yes].sum() / p[no].sum()).log()), abs=1e-4)
