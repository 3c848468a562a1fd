"""Grouped and split attention against plain softmax attention written out."""

import pytest
import torch

from geobench.kernels import attention


def plain(q, k, v, mask, scale):
    groups = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(groups, 1).transpose(2, 3) * scale
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v.repeat_interleave(groups, 1)


def heads(batch, heads, size, seed):
    return torch.randn(batch, heads, size, 8, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("size", [1, 6])
def test_grouped_equals_plain(size):
    q, k, v = heads(2, 6, size, 1), heads(2, 2, 9, 2), heads(2, 2, 9, 3)
    mask = torch.ones(size, 9, dtype=torch.bool).tril(9 - size)
    torch.testing.assert_close(attention.grouped(q, k, v, mask, 0.3), plain(q, k, v, mask, 0.3), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("hidden", [None, 3, 5])
def test_split_equals_attention_over_both(half, hidden):
    q, k, v = heads(3, 6, 4, 1), heads(3, 2, 4, 2), heads(3, 2, 4, 3)
    past_k, past_v = heads(1, 2, 5, 4), heads(1, 2, 5, 5)
    own = torch.ones(4, 4, dtype=torch.bool).tril()
    past = torch.ones(4, 5, dtype=torch.bool)
    past[-1, : hidden or 0] = False  # all of it when 5
    both = [torch.cat([a.expand(3, -1, -1, -1), b], 2) for a, b in ((past_k, k), (past_v, v))]
    want = plain(q, *both, torch.cat([past, own], 1), 0.3)
    kind = torch.bfloat16 if half else torch.float32  # another dtype takes the path without the CPU's flash kernel
    tensors = [t.to(kind) for t in (q, past_k, past_v, k, v)]
    got = attention.split(tensors[0], tensors[1:3], tensors[3:], None if hidden is None else past, own, 0.3)
    torch.testing.assert_close(got.float(), want, atol=3e-2 if half else 1e-5, rtol=3e-2 if half else 1e-5)
