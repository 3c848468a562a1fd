"""RAF's second stage and StealthRank's update against the published schemes; parts `raf` and `stealthrank` of benchmarks/white_box.py."""

import time


def timed(work):
    """(value, seconds of this process's one thread): what else the machine does hardly counts."""
    start = time.process_time()
    value = work()
    return value, time.process_time() - start


def raf(asked, stage) -> dict:
    """Stage 2 of RAF: losses of many tokens at the last place, against one full-prompt forward per candidate."""
    import torch

    from geobench.kernels import candidates

    engine, words, here, slot = stage(size=5)
    count = asked.candidates or 64
    tokens = words.inner.nonzero()[:, 0].tolist()[:: len(words.texts) // count][:count]
    slots = [[*slot[:-1], token] for token in tokens]
    base = candidates.incumbent(engine.model, here.past, slot, here.tail, here.goal)
    losses, seconds = timed(lambda: candidates.candidate_losses(engine.model, here.past, slots, here.tail, here.goal, base=base))

    @torch.no_grad()
    def plain():
        found, goal = [], torch.tensor(here.goal)
        for candidate in slots:
            whole = torch.tensor([[*here.head, *candidate, *here.tail, *here.goal]])
            logits = engine.model(whole, use_cache=False).logits[0, -len(goal) - 1 : -1]
            found.append(float(torch.nn.functional.cross_entropy(logits, goal)))
        return found

    other, slow = timed(plain)
    worst = max(abs(a - b) for a, b in zip(losses, other))
    row = {"part": "raf", "candidates": len(slots), "seconds": seconds, "full_prompts": slow, "ratio": slow / seconds}
    return row | {"max_difference": worst, "failed": worst > 1e-4}


def stealthrank(asked, stage) -> dict:
    """One StealthRank update of 5 x 30 logits, against two full forwards per row (fluency and reply, both with gradients)."""
    import torch
    import torch.nn.functional as F

    from geobench.kernels import soft

    engine, _, here, _ = stage(size=30)
    model, table = engine.model, engine.model.get_input_embeddings().weight
    y = torch.randn(5, 30, table.shape[0], generator=torch.Generator().manual_seed(0)) * 3
    before, rows = here.past.crop(len(here.past) - 1), torch.tensor([here.head])

    def ours():
        e = torch.zeros_like(y).requires_grad_()
        own = soft.next_distribution(model, before, here.head[-1], soft.soft_embeddings(model, y, 0.1))
        fluent = soft.fluency(y + e, own, 10, [])
        wanted = soft.reply_losses(model, here.past, soft.straight_through(model, y + e, 0.1), here.tail, here.goal)
        return torch.autograd.grad((fluent + 50 * wanted).sum(), e)[0]

    def published():
        gradients = []
        for row in y:
            e = torch.zeros_like(row).requires_grad_()
            soft_row = soft.soft_embeddings(model, (row + e)[None], 0.1)
            logits = model(inputs_embeds=torch.cat([table[rows], soft_row], 1), use_cache=False).logits[:, -31:-1]
            fluent = soft.fluency((row + e)[None], logits.detach(), 10, [])
            hard = soft.straight_through(model, (row + e)[None], 0.1)
            rest = table[torch.tensor([[*here.tail, *here.goal]])]
            out = model(inputs_embeds=torch.cat([table[rows], hard, rest], 1), use_cache=False).logits[0, -len(here.goal) - 1 : -1]
            wanted = F.cross_entropy(out, torch.tensor(here.goal))
            gradients.append(torch.autograd.grad((fluent + 50 * wanted).sum(), e)[0])
        return torch.stack(gradients)

    mine, seconds = timed(ours)
    other, slow = timed(published)
    worst = float((mine - other).abs().max())
    row = {"part": "stealthrank", "seconds": seconds, "published": slow, "ratio": slow / seconds, "max_gradient_difference": worst}
    return row | {"failed": worst > 1e-4}
