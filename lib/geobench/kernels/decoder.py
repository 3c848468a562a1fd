"""One differentiable forward for Llama-, Qwen2- and Mistral-type decoders that can start from a shared prefix.

It reuses the model's own projections, norms and rotary embedding and rewires only the attention: keys and values of a prefix
are computed once and read, never copied, by every later call and every row of its batch; the last layer runs only at the rows
that are wanted; attention weights of chosen rows can be read out; and nothing is mutated, so one prefix serves many
continuations. Grouped-query attention, biases and query/key norms come with the model's modules.
"""

from dataclasses import dataclass

import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from geobench.errors import GeoBenchError
from geobench.kernels import attention


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
class Heads:
    """The attention heads that a read-out sums: per layer (0-based) their numbers and their weights in the sum."""

    layers: dict[int, tuple[list[int], list[float]]]

    @property
    def depth(self) -> int:
        """How many layers of the model they need."""
        return max(self.layers) + 1


@dataclass(frozen=True)
class Forward:
    """`hidden` [B, T, D] before the final norm (None when not all layers ran); `own` keys/values of the new tokens, of the layers that
    ran; `attention` float32: weights of the rows in `read`, [B, rows, prefix + T] summed over heads, apart [B, heads, rows, prefix + T]."""

    hidden: torch.Tensor | None
    own: Prefix | None
    attention: torch.Tensor | None


EMPTY = Prefix([], [])
WORK = {"forward": 0, "backward": 0}  # tokens run in this process; callers take differences


FAMILIES = ("llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe")  # model types whose layers are what `forward` rewires


def supports(model) -> bool:
    """Whether `forward` computes what the model itself does: a Llama-, Qwen2- or Mistral-type decoder whose layers all attend alike and
    whose rotary embedding does not change with the prompt's length."""
    config = getattr(model, "config", None)
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    alike = len(set(getattr(config, "layer_types", None) or [0])) == 1
    return getattr(config, "model_type", None) in FAMILIES and hasattr(model, "lm_head") and alike and rope not in ("dynamic", "longrope")


def require_supported(model) -> None:
    if not supports(model):
        raise GeoBenchError(f"{type(model).__name__} is not a Llama-, Qwen2- or Mistral-type decoder: no shared-prefix kernels for it")


def window(model) -> int | None:
    """Tokens that a row sees, itself included; None for all."""
    if "full_attention" in (getattr(model.config, "layer_types", None) or ()):
        return None
    return getattr(model.config, "sliding_window", None)


def all_heads(model) -> Heads:
    """Every head of every layer, each with weight 1. GeoBenchError as in `forward`."""
    require_supported(model)
    count = model.config.num_attention_heads
    return Heads({layer: (list(range(count)), [1.0] * count) for layer in range(model.config.num_hidden_layers)})


def causal_mask(positions: torch.Tensor, past: torch.Tensor | int, window: int | None = None) -> torch.Tensor:
    """[T, past + T] booleans: a row sees the prefix and the new tokens up to itself, within a sliding window if there is one.

    positions: [T] of the new tokens; past: positions of the prefix's, or how many from 0 on.
    """
    if isinstance(past, int):
        past = torch.arange(past, device=positions.device)
    keys = torch.cat([past, positions])
    seen = keys[None, :] <= positions[:, None]
    return seen if window is None else seen & (keys[None, :] > positions[:, None] - window)


def forward(
    model, tokens, past: Prefix = EMPTY, *, positions=None, mask=None, read=None, heads: Heads | None = None, apart=False,
    keep=False, last: int | None = None, depth: int | None = None,
) -> Forward:  # fmt: skip
    """Run `tokens` (ids [B, T] or embeddings [B, T, D]) after `past`.

    positions: [T], default the places right after the prefix. mask: [T, past + T] booleans, default causal.
    read: rows whose attention weights by `heads` are wanted; the forward stops in the last layer that these heads need. apart: those of
    each head, times its weight, instead of their sum.
    keep: return the new tokens' keys and values. last: hidden states of the last so many rows only.
    depth: run so many layers only, for keys and values that are read no later.
    """
    require_supported(model)
    core = model.model
    x = core.embed_tokens(tokens) if tokens.dtype in (torch.long, torch.int) else tokens
    WORK["forward"] += x.shape[0] * x.shape[1]
    WORK["backward"] += x.shape[0] * x.shape[1] * (torch.is_grad_enabled() and x.requires_grad)
    if positions is None:
        positions = torch.arange(len(past), len(past) + x.shape[1], device=x.device)
    if mask is None:
        mask = causal_mask(positions, len(past), window(model))
    rotary = core.rotary_emb(x, position_ids=positions[None])
    all_past = bool(mask[:, : len(past)].all())  # asked once: on CUDA every answer waits for the device
    layers, keys, values, weights = core.layers[: heads.depth if heads else depth], [], [], []
    for i, layer in enumerate(layers):
        q, k, v = project(layer, x, rotary)
        if keep:
            keys.append(k.detach())
            values.append(v.detach())
        if i == len(layers) - 1 and last is not None:
            x, q, mask = x[:, -last:], q[:, :, -last:], mask[-last:]
        shared = (past.keys[i], past.values[i]) if len(past) else None
        if heads and i in heads.layers:
            seen = _weights(q[:, :, read], k, shared and shared[0], mask[read], heads.layers[i], layer.self_attn.scaling)
            weights.append(seen if apart else seen.sum(1))
        if i == len(layers) - 1 and (heads or len(layers) < len(core.layers)):
            seen = (torch.cat(weights, 1) if apart else sum(weights)) if heads else None
            return Forward(None, Prefix(keys, values) if keep else None, seen)
        x = finish(layer, x, _attend(q, k, v, shared, mask, all_past, layer.self_attn.scaling))
    return Forward(x, Prefix(keys, values) if keep else None, None)


def logits(model, hidden: torch.Tensor) -> torch.Tensor:
    """[..., V] next-token logits in float32 of the hidden states of the rows that are read."""
    return model.lm_head(model.model.norm(hidden)).float()


def project(layer, x, rotary):
    """Rotated queries, keys and values [B, heads, T, head size] of one layer."""
    own = layer.self_attn
    h = layer.input_layernorm(x)
    q, k, v = (part(h).unflatten(-1, (-1, own.head_dim)) for part in (own.q_proj, own.k_proj, own.v_proj))
    if hasattr(own, "q_norm"):
        q, k = own.q_norm(q), own.k_norm(k)
    q, k = apply_rotary_pos_emb(q.transpose(1, 2), k.transpose(1, 2), *rotary)
    return q, k, v.transpose(1, 2)


def finish(layer, x, attended):
    """The rest of one layer after its attention [B, H, T, hd]: output projection, feed-forward."""
    x = x + layer.self_attn.o_proj(attended.transpose(1, 2).flatten(2))
    return x + layer.mlp(layer.post_attention_layernorm(x))


def _attend(q, k, v, shared, mask, all_past, scale):
    """Attention over the prefix's and the own keys; under autograd over both joined, else each where it is. all_past: no row is
    kept from any of the prefix."""
    if shared is None:
        return attention.grouped(q, k, v, mask, scale)
    if torch.is_grad_enabled() and q.requires_grad:
        k, v = (torch.cat([a.expand(len(q), -1, -1, -1), b], 2) for a, b in zip(shared, (k, v)))
        return attention.grouped(q, k, v, mask, scale)
    past, own = mask[:, : shared[0].shape[2]], mask[:, shared[0].shape[2] :]
    return attention.split(q, shared, (k, v), None if all_past else past, own, scale)


def _weights(q, k, past, mask, heads: tuple[list[int], list[float]], scale: float) -> torch.Tensor:
    """[B, heads, rows, keys] float32: attention weights of the read rows by some of a layer's heads, times the heads' weights.
    q [B, H, rows, hd]; k [B, KV, T, hd]; past [1, KV, P, hd] or None."""
    numbers, shares = heads
    groups = q.shape[1] // k.shape[1]
    own = [number // groups for number in numbers]
    q = q[:, numbers].float()
    scores = q @ k[:, own].float().transpose(2, 3)
    if past is not None:  # read by the whole batch at once
        there = q.transpose(0, 1).flatten(1, 2) @ past[0, own].float().transpose(1, 2)
        scores = torch.cat([there.unflatten(1, (len(q), -1)).transpose(0, 1), scores], 3)
    weights = (scores * scale).masked_fill(~mask, float("-inf")).softmax(-1)
    return weights * torch.tensor(shares, device=q.device)[:, None, None]
