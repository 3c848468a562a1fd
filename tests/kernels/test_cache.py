"""Stepwise decoding in one block against the plain forward over each row alone."""

import pytest
import torch

from geobench.kernels import decoder
from geobench.kernels.cache import Cache

ROWS = [[0, 21, 33], [0, *range(40, 61)], [0, 9]]


@pytest.mark.parametrize("kind", ["llama", "qwen2", "mistral"])
@pytest.mark.parametrize("shared", [0, 5])
def test_steps_equal_the_plain_forward(tiny_model, kind, shared):
    model = tiny_model(kind).model
    head = list(range(100, 100 + shared))
    past = decoder.forward(model, torch.tensor([head]), keep=True).own if shared else decoder.EMPTY
    with torch.no_grad():
        cache, written, left = Cache(model, ROWS, 6, past), [[] for _ in ROWS], [0, 1, 2]
        for step in range(5):
            for place, n in enumerate(left):
                want = model(torch.tensor([[*head, *ROWS[n], *written[n]]])).logits[0, -1]
                torch.testing.assert_close(decoder.logits(model, cache.hidden[place]), want.float(), atol=1e-4, rtol=1e-4)
            if step == 2:
                cache.keep([0, 2])
                left = [0, 2]
            for n in left:
                written[n].append(50 + 3 * n + step)
            cache.step([written[n][-1] for n in left])


def test_a_sliding_window_hides_old_places(tiny_model, monkeypatch):
    model = tiny_model("mistral").model
    monkeypatch.setattr(model.config, "sliding_window", 4)
    with torch.no_grad():
        cache = Cache(model, [ROWS[1]], 2)
        cache.step([77])
        want = model(torch.tensor([[*ROWS[1], 77]]), use_cache=False).logits[0, -1]
    torch.testing.assert_close(decoder.logits(model, cache.hidden[0]), want.float(), atol=1e-4, rtol=1e-4)


def test_rows_may_begin_with_what_another_row_computed(tiny_model):
    model, kept = tiny_model("llama").model, []
    rows = [[0, 21, 33, 44], [0, 21, 33, 50, 51], [0, 7]]
    with torch.no_grad():
        cache = Cache(model, rows, 2, before=lambda n: kept[0].crop(3 if n == 1 else 0) if n else decoder.EMPTY,
                      after=lambda n, whole: kept.append(whole))  # fmt: skip
        assert [len(prefix) for prefix in kept] == [4, 5, 2]
        cache.step([60, 61, 62])
        for n, row in enumerate(rows):
            want = model(torch.tensor([[*row, 60 + n]])).logits[0, -1]
            torch.testing.assert_close(decoder.logits(model, cache.hidden[n]), want.float(), atol=1e-4, rtol=1e-4)
