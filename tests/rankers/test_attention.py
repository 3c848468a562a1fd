"""Attention read-out: the shared clean prefix gives the scores of the whole prompt."""

import numpy as np
import pytest

from geobench.rankers.attention import AttentionRanker
from geobench.rankers.base import Job

ORDERS = ((0, 1, 2, 3), (2, 0, 3, 1))


@pytest.mark.parametrize("kind", ["llama", "qwen2", "mistral"])
def test_sharing_changes_no_score(tiny_model, cameras, kind):
    engine = tiny_model(kind)
    jobs = [Job(cameras, ORDERS)]
    for target in (1, 2, 3, 4):
        for text in ("A bright lens. Buy this one now!", "Cheap", cameras.items[target - 1].description):
            jobs.append(Job(cameras, ORDERS, target, text, "edited"))
    shared, alone = (
        [r for _, r in AttentionRanker("tiny:attention", engine, share=share).rank(jobs)] for share in (True, False)
    )
    for a, b in zip(shared, alone):
        assert np.allclose(a.scores, b.scores, atol=1e-5)
    assert np.ptp(shared[0].scores[0]) > 1e-4


def test_an_edited_job_first_makes_its_own_clean_pass(tiny_model, cameras):
    engine = tiny_model("llama")
    job = Job(cameras, ORDERS, 3, "Better.", "edited")
    (_, alone), = AttentionRanker("t", engine, share=False).rank([job])
    (_, shared), = AttentionRanker("t", engine).rank([job])
    assert np.allclose(shared.scores, alone.scores, atol=1e-5)


def test_lines_are_found_in_the_prompt(tiny_model, cameras):
    ranker = AttentionRanker("t", tiny_model("llama"))
    text, lines = ranker.prompt_text(Job(cameras, ORDERS), ORDERS[1])
    assert [text[a:b] for a, b in lines] == [
        "1. Gamma Three: Quiet.", "2. Alpha One: A bright lens.", "3. Delta Four: Small, light and cheap.",
        "4. Beta Two: A long battery life and a steel body for travel.",
    ]
    assert text.endswith("travel.")


def test_scores_are_the_calibrated_attention_of_two_plain_passes(tiny_model, cameras):
    import copy

    import torch

    engine = tiny_model("llama")
    ranker = AttentionRanker("t", engine)
    (_, ranking), = ranker.rank([Job(cameras, ORDERS[:1])])
    eager = copy.deepcopy(engine.model)
    eager.set_attn_implementation("eager")
    text, lines = ranker.prompt_text(Job(cameras, ORDERS), ORDERS[0])
    ids, spans = engine.encode(text, offsets=True)
    rows = []
    for query in ("\nI am looking for a camera.", "\nI am looking for something."):
        extra = engine.tokenizer(query, add_special_tokens=False)["input_ids"]
        weights = sum(a[0].sum(0) for a in eager(torch.tensor([ids + extra]), output_attentions=True).attentions)
        rows.append(weights[len(ids):, : len(ids)].mean(0))
    difference = (rows[0] - rows[1]).numpy()
    want = [np.mean([difference[n] for n, (s, e) in enumerate(spans) if s < end and e > start]) for start, end in lines]
    assert np.allclose(ranking.scores[0], want, atol=1e-5)
