"""One differentiable forward for Llama-, Qwen2- and Mistral-type decoders that can start from a shared prefix.

It reuses the model's own projections, norms and rotary embedding and rewires only the attention: keys and values of a prefix
are computed once and read by every later call, attention weights of chosen rows can be read out, and nothing is mutated, so
one prefix serves many continuations. Grouped-query attention, biases and query/key norms come with the model's modules.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from geobench.errors import GeoBenchError


@dataclass(frozen=True)
class Prefix:
    """Keys and values of the tokens before: per layer two tensors [1, kv heads, tokens, head size]."""

    keys: list
    values: list

    def __len__(self) -> int:
        return self.keys[0].shape[2] if self.keys else 0

    def crop(self, length: int) -> "Prefix":
        """The first `length` tokens, as views: nothing is copied."""
        return Prefix([k[:, :, :length] for k in self.keys], [v[:, :, :length] for v in self.values])

    def extend(self, other: "Prefix") -> "Prefix":
        """This prefix followed by the tokens of `other`."""
        if not self.keys:
            return other
        join = [[torch.cat(pair, 2) for pair in zip(mine, new)] for mine, new in ((self.keys, other.keys), (self.values, other.values))]
        return Prefix(*join)


@dataclass(frozen=True)
class Forward:
    """`hidden` [B, T, D] before the final norm (None when only attention was read); `own` keys/values of the new tokens;
    `attention` [rows, prefix + T]: weights of the rows in `read`, summed over layers and heads (None if not asked for)."""

    hidden: torch.Tensor | None
    own: Prefix | None
    attention: torch.Tensor | None


EMPTY = Prefix([], [])


def supports(model) -> bool:
    """Whether the decoder has the Llama-type layout that `forward` rewires."""
    layers = getattr(getattr(model, "model", None), "layers", None)
    return bool(layers) and all(hasattr(layers[0], part) for part in ("self_attn", "mlp", "post_attention_layernorm")) and hasattr(
        layers[0].self_attn, "q_proj"
    )


def causal_mask(positions: torch.Tensor, past: int, window: int | None = None) -> torch.Tensor:
    """[T, past + T] booleans: a row sees the prefix and the new tokens up to itself, within a sliding window if there is one."""
    keys = torch.cat([torch.arange(past, device=positions.device), positions])
    seen = keys[None, :] <= positions[:, None]
    return seen if window is None else seen & (keys[None, :] > positions[:, None] - window)


def forward(model, tokens, past: Prefix = EMPTY, *, positions=None, mask=None, read=None, only_attention=False, keep=False) -> Forward:
    """Run `tokens` (ids [B, T] or embeddings [B, T, D]) after `past`.

    positions: [T], default the places right after the prefix. mask: [T, past + T] booleans, default causal.
    read: rows whose attention weights are wanted (B = 1). only_attention: stop in the last layer once they are known.
    keep: return the new tokens' keys and values.
    """
    if not supports(model):
        raise GeoBenchError(f"{type(model).__name__} is not a Llama-, Qwen2- or Mistral-type decoder: no shared-prefix kernels for it")
    core = model.model
    x = core.embed_tokens(tokens) if tokens.dtype in (torch.long, torch.int) else tokens
    if positions is None:
        positions = torch.arange(len(past), len(past) + x.shape[1], device=x.device)
    if mask is None:
        mask = causal_mask(positions, len(past), getattr(model.config, "sliding_window", None))
    rotary = core.rotary_emb(x, position_ids=positions[None])
    keys, values, weights = [], [], None
    for i, layer in enumerate(core.layers):
        q, k, v = _project(layer, x, rotary)
        if keep:
            keys.append(k.detach())
            values.append(v.detach())
        if len(past):
            k = torch.cat([past.keys[i].expand(len(x), -1, -1, -1), k], 2)
            v = torch.cat([past.values[i].expand(len(x), -1, -1, -1), v], 2)
        if read is not None:
            layer_weights = _weights(layer.self_attn, q[0][:, read], k[0], mask[read])
            weights = layer_weights if weights is None else weights + layer_weights
            if only_attention and i == len(core.layers) - 1:
                return Forward(None, Prefix(keys, values) if keep else None, weights)
        x = _finish(layer, x, q, k, v, mask)
    return Forward(x, Prefix(keys, values) if keep else None, weights)


def logits(model, hidden: torch.Tensor) -> torch.Tensor:
    """[..., V] next-token logits in float32 of the hidden states of the rows that are read."""
    return model.lm_head(model.model.norm(hidden)).float()


def _project(layer, x, rotary):
    """Rotated queries, keys and values [B, heads, T, head size] of one layer."""
    attention = layer.self_attn
    h = layer.input_layernorm(x)
    q, k, v = (part(h).unflatten(-1, (-1, attention.head_dim)) for part in (attention.q_proj, attention.k_proj, attention.v_proj))
    if hasattr(attention, "q_norm"):
        q, k = attention.q_norm(q), attention.k_norm(k)
    q, k = apply_rotary_pos_emb(q.transpose(1, 2), k.transpose(1, 2), *rotary)
    return q, k, v.transpose(1, 2)


def _weights(attention, q, k, mask) -> torch.Tensor:
    """[rows, keys] attention weights of the read rows, summed over heads, in float32."""
    groups = q.shape[0] // k.shape[0]
    scores = q.float() @ k.repeat_interleave(groups, 0).float().transpose(1, 2) * attention.scaling
    return scores.masked_fill(~mask, float("-inf")).softmax(-1).sum(0)


def _finish(layer, x, q, k, v, mask):
    """The rest of one layer: attention, output projection, feed-forward."""
    groups = q.shape[1] // k.shape[1]
    a = F.scaled_dot_product_attention(
        q, k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1), attn_mask=mask, scale=layer.self_attn.scaling
    )
    x = x + layer.self_attn.o_proj(a.transpose(1, 2).flatten(2))
    return x + layer.mlp(layer.post_attention_layernorm(x))
