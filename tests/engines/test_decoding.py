"""The choice of the next token: distribution, nucleus, and when it says that it is not sure."""

from types import SimpleNamespace

import numpy as np
import torch

from geobench.engines.decoding import Decoding, choose

LOGITS = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()


def test_greedy_takes_the_top():
    assert choose(LOGITS, Decoding(1), 0, 0, 1e-3) == (0, True)


def test_greedy_fetches_two_logits_and_not_the_vocabulary():
    assert choose(SimpleNamespace(topk=LOGITS.topk), Decoding(1), 0, 0, 1e-3) == (0, True)


def test_greedy_near_tie_is_unsure():
    token, sure = choose(torch.tensor([1.0, 1.0 + 1e-5, 0.0]), Decoding(1), 0, 0, 1e-3)
    assert token == 1 and not sure


def frequencies(decoding: Decoding, draws: int = 3000) -> np.ndarray:
    tokens = [choose(LOGITS, decoding, seed, 0, 1e-6)[0] for seed in range(draws)]
    return np.bincount(tokens, minlength=4) / draws


def test_sampling_follows_the_softmax():
    assert np.allclose(frequencies(Decoding(1, 1.0)), [0.5, 0.3, 0.15, 0.05], atol=0.03)


def test_temperature_sharpens():
    want = np.array([0.25, 0.09, 0.0225, 0.0025])
    assert np.allclose(frequencies(Decoding(1, 0.5)), want / want.sum(), atol=0.03)


def test_nucleus_keeps_tokens_until_the_mass_is_reached():
    assert np.allclose(frequencies(Decoding(1, 1.0, top_p=0.7)), [0.625, 0.375, 0, 0], atol=0.03)


def test_the_same_seed_and_step_repeat_and_others_differ():
    decoding, logits = Decoding(1, 1.0), torch.zeros(500)
    assert choose(logits, decoding, 3, 5, 1e-6)[0] == choose(logits, decoding, 3, 5, 1e-6)[0]
    assert len({choose(logits, decoding, 3, step, 1e-6)[0] for step in range(20)}) > 10


def test_sampling_near_a_border_is_unsure():
    noise = -np.log(np.random.default_rng([0, 0]).standard_exponential(2, dtype=np.float32))
    level = torch.from_numpy(-noise)  # both tokens end at the same score
    assert not choose(level + torch.tensor([0.0, 5e-4]), Decoding(1, 1.0), 0, 0, 1e-3)[1]
    assert choose(level + torch.tensor([0.0, 5e-3]), Decoding(1, 1.0), 0, 0, 1e-3) == (1, True)


def test_a_token_at_the_edge_of_the_nucleus_is_unsure():
    logits = torch.tensor([0.7, 0.2, 0.1]).log()
    sure = [choose(logits, Decoding(1, 1.0, top_p), 5, step, 1e-3) for step in range(200) for top_p in (0.8,)]
    edge = [choose(logits, Decoding(1, 1.0, 0.7), 5, step, 1e-3) for step in range(200)]
    assert {t for t, _ in sure} == {0, 1} and all(s for _, s in sure)
    assert any(not s for _, s in edge)


def test_nucleus_border_is_unsure():
    logits = torch.tensor([0.5, 0.3, 0.2]).log()
    answers = [choose(logits, Decoding(1, 1.0, top_p=0.5 + 1e-5), seed, 0, 1e-3) for seed in range(200)]
    assert all(not sure for token, sure in answers if token == 1)


def test_a_sure_choice_survives_any_change_below_the_margin():
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(200, generator=generator) * 2
    margin = 2e-3
    for seed in range(300):
        for decoding in (Decoding(1, 0.8, 0.9), Decoding(1, 1.0), Decoding(1)):
            token, sure = choose(logits, decoding, seed, 0, margin)
            moved = logits + (torch.rand(200, generator=generator) - 0.5) * margin
            assert not sure or choose(moved, decoding, seed, 0, margin)[0] == token


def test_a_draw_of_zero_does_not_win(monkeypatch):
    """Its noise is that of the least number that is not zero, 87.3, and not endless: a logit above that still wins."""
    draws = SimpleNamespace(standard_exponential=lambda size, dtype: np.array([1.0, 0.0], dtype=dtype))
    monkeypatch.setattr(np.random, "default_rng", lambda seed: draws)
    assert choose(torch.tensor([90.0, 0.0]), Decoding(1, 1.0), 0, 0, 1e-6) == (0, True)
    assert choose(torch.tensor([80.0, 0.0]), Decoding(1, 1.0), 0, 0, 1e-6) == (1, True)
