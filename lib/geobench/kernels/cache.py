"""Keys and values of prompts that decode together: every prompt is prefilled alone and right-padded into one block, and each step
writes one place of every row. Rows differ in length, so a step has its own mask and rotary positions per row."""

import torch

from geobench.kernels import attention, decoder
from geobench.kernels.decoder import EMPTY, Prefix


class Cache:
    """`keys`, `values`: per layer [B, KV, room, hd]; `lengths` [B]: filled places; `hidden` [B, D]: after each row's last token."""

    @torch.inference_mode()
    def __init__(self, model, rows: list[list[int]], room: int, past: Prefix = EMPTY, before=None, after=None):
        """Prefill `rows` (each at least one token after the shared `past`) with `room` places for new tokens.

        before(n): keys and values that row n begins with, a shorter beginning of the whole row, in place of `past`.
        after(n, prefix): is given those of the whole row, once they are known.
        """
        self.model, self.device = model, model.device
        sizes = [len(row) + (0 if before else len(past)) for row in rows]
        self.lengths = torch.tensor(sizes, device=self.device)
        self.width = max(sizes)
        self.keys, self.values, hidden = [], [], []
        for n, row in enumerate(rows):
            known = before(n) if before else past
            rest = torch.tensor([row[len(known) :] if before else row], device=self.device)
            new = decoder.forward(model, rest, known, keep=True, last=1)
            hidden.append(new.hidden[0, -1])
            whole = known.extend(new.own) if len(known) else new.own
            for i, (k, v) in enumerate(zip(whole.keys, whole.values)):
                if not n:
                    shape = (len(rows), k.shape[1], self.width + room, k.shape[3])
                    self.keys.append(k.new_zeros(shape))
                    self.values.append(v.new_zeros(shape))
                self.keys[i][n, :, : sizes[n]], self.values[i][n, :, : sizes[n]] = k[0], v[0]
            if after:
                after(n, whole)
        self.hidden = torch.stack(hidden)

    @torch.inference_mode()
    def step(self, tokens: list[int]) -> None:
        """Append one token to every row."""
        core, rows = self.model.model, torch.arange(len(tokens), device=self.device)
        self.width += 1
        x = core.embed_tokens(torch.tensor(tokens, device=self.device)[:, None])
        rotary = core.rotary_emb(x, position_ids=self.lengths[:, None])
        places, at = torch.arange(self.width, device=self.device), self.lengths[:, None]
        window = decoder.window(self.model)
        mask = (places <= at) if window is None else (places <= at) & (places > at - window)
        for layer, keys, values in zip(core.layers, self.keys, self.values):
            q, k, v = decoder.project(layer, x, rotary)
            keys[rows, :, self.lengths], values[rows, :, self.lengths] = k[:, :, 0], v[:, :, 0]
            seen = keys[:, :, : self.width], values[:, :, : self.width]
            x = decoder.finish(layer, x, attention.grouped(q, *seen, mask[:, None, None], layer.self_attn.scaling))
        self.lengths = self.lengths + 1
        self.hidden = x[:, -1]

    @torch.inference_mode()
    def alone(self, row: int, size: int, tokens: list[int]) -> torch.Tensor:
        """[V] float32 next-token logits of one row without the others: after its first `size` places, which were prefilled alone,
        `tokens` run in one forward."""
        past = Prefix([k[row : row + 1, :, :size] for k in self.keys], [v[row : row + 1, :, :size] for v in self.values])
        if not tokens:
            return decoder.logits(self.model, self.hidden[row])
        rest = torch.tensor([tokens], device=self.device)
        return decoder.logits(self.model, decoder.forward(self.model, rest, past, last=1).hidden[0, -1])

    def keep(self, rows: list[int]) -> None:
        """Go on with these rows only."""
        at = torch.tensor(rows, device=self.device)
        self.keys, self.values = [k[at] for k in self.keys], [v[at] for v in self.values]
        self.lengths, self.hidden = self.lengths[at], self.hidden[at]
        self.width = int(self.lengths.max())
