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

    def step(self, tokens: list[int]) -> None:
        """Append one token to every row."""
        self.hidden = self.extend([[token] for token in tokens])
        self.accept([1] * len(tokens))

    @torch.inference_mode()
    def extend(self, tokens: list[list[int]]) -> torch.Tensor:
        """[N, D] hidden states of the rows' new tokens (one or more each), row after row. They stay in place once they are accepted."""
        core, counts = self.model.model, [len(t) for t in tokens]
        row = torch.tensor([n for n, count in enumerate(counts) for _ in range(count)], device=self.device)
        turn = torch.tensor([t for count in counts for t in range(count)], device=self.device)
        at, width = self.lengths[row] + turn, int((self.lengths + torch.tensor(counts, device=self.device)).max())
        x = core.embed_tokens(torch.tensor([sum(tokens, [])], device=self.device))
        rotary = core.rotary_emb(x, position_ids=at[None])
        places, last = torch.arange(width, device=self.device), self.lengths[:, None] + torch.arange(max(counts), device=self.device)
        window = decoder.window(self.model)
        mask = places <= last[:, :, None]
        mask = (mask if window is None else mask & (places > last[:, :, None] - window))[:, None]
        for layer, keys, values in zip(core.layers, self.keys, self.values):
            q, k, v = decoder.project(layer, x, rotary)
            keys[row, :, at], values[row, :, at] = k[0].transpose(0, 1), v[0].transpose(0, 1)
            padded = q.new_zeros(len(tokens), q.shape[1], max(counts), q.shape[3])
            padded[row, :, turn] = q[0].transpose(0, 1)
            seen = attention.grouped(padded, keys[:, :, :width], values[:, :, :width], mask, layer.self_attn.scaling)
            x = decoder.finish(layer, x, seen[row, :, turn].transpose(0, 1)[None])
        return x[0]

    def accept(self, counts: list[int]) -> None:
        """Of the tokens that `extend` appended, keep so many of each row; the rest is written over."""
        self.lengths = self.lengths + torch.tensor(counts, device=self.device)
        self.width = int(self.lengths.max())

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
