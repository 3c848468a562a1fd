"""Attention that never copies what is shared: query heads of one group read their key/value head together, and keys and values
of a prefix are read by a whole batch of continuations. The prefix's part and the own part are computed apart and merged by
their log-sum-exps, as in split softmax (Dao et al. 2022).
"""

import torch
import torch.nn.functional as F


def grouped(q, k, v, mask, scale: float) -> torch.Tensor:
    """[B, H, T, hd] attention of q over k, v [B, KV, S, hd]; mask: booleans that broadcast to [B, 1, T, S], or None for all."""
    groups, size = q.shape[1] // k.shape[1], q.shape[2]
    if mask is not None:
        mask = mask.repeat_interleave(groups, -2) if mask.shape[-2] > 1 else mask
    out = F.scaled_dot_product_attention(_packed(q, groups), k, v, attn_mask=mask, scale=scale)
    return out.unflatten(2, (size, groups)).transpose(2, 3).flatten(1, 2)


def split(q, past, own, past_mask, own_mask, scale: float) -> torch.Tensor:
    """[B, H, T, hd]: attention over `past` (k, v) [1, KV, P, hd], shared by the batch, and `own` (k, v) [B, KV, S, hd] together.

    past_mask: booleans [T, P] or None for all; own_mask: [T, S], in which every row sees something. No gradients.
    """
    groups, (batch, _, size, _) = q.shape[1] // own[0].shape[1], q.shape
    packed = _packed(q, groups)  # [B, KV, T*G, hd]
    joined = packed.transpose(0, 1).flatten(1, 2)[None]  # [1, KV, B*T*G, hd]
    if past_mask is not None:
        past_mask = past_mask.repeat_interleave(groups, 0).repeat(batch, 1)
    there, there_lse = _with_lse(joined, past[0], past[1], past_mask, scale)
    there = there[0].unflatten(1, (batch, -1)).transpose(0, 1)
    there_lse = there_lse[0].unflatten(1, (batch, -1)).transpose(0, 1)
    here, here_lse = _with_lse(packed, own[0], own[1], own_mask.repeat_interleave(groups, 0), scale)
    share = torch.sigmoid(there_lse - here_lse)[..., None].to(here.dtype)
    if past_mask is not None:
        there = torch.where(share > 0, there, 0)  # a row that sees nothing of the prefix
    out = torch.lerp(here, there.to(here.dtype), share)
    return out.unflatten(2, (size, groups)).transpose(2, 3).flatten(1, 2)


def _packed(q, groups: int) -> torch.Tensor:
    """[B, KV, T*G, hd]: the query heads of one key/value head as more queries, those of one place side by side."""
    return q.unflatten(1, (-1, groups)).transpose(2, 3).flatten(2, 3)


def _with_lse(q, k, v, mask, scale):
    """Attention output [B, H, T, hd] and log-sum-exp of the scores [B, H, T] (float32, -inf where a row sees nothing)."""
    bias = None if mask is None else torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(~mask, float("-inf"))
    if q.device.type == "cpu" and q.dtype == torch.float32:
        out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, False, attn_mask=bias, scale=scale)
        lse = lse.reshape(q.shape[:3])
        return out, lse if mask is None else lse.masked_fill(~mask.any(-1), float("-inf"))  # the kernel says 0 there
    scores = (q @ k.transpose(-1, -2)).float() * scale
    scores = scores if bias is None else scores + bias
    lse = scores.logsumexp(-1)
    return (scores - lse.clamp(min=torch.finfo(torch.float32).min)[..., None]).exp().to(v.dtype) @ v, lse
