"""The `likelihood` victim: which of two statements does the model find likelier as its answer, given the query and the context?

margin = log p(false) - log p(true), sums over the statements' tokens at the start of the assistant's turn. A model has tastes in
wording, so the margin without any source (`prior`) is recorded too; margin - prior is what the context did. All statements share
the prompt: its keys and values are computed once, and the statements run as one right-padded batch after it.
"""

import torch

from geobench.errors import DoesNotFit, GeoBenchError
from geobench.kernels import decoder


def statement_logprobs(engine, messages: list[dict], statements: list[str], shared: bool = True, what: str = "prompt") -> list[float]:
    """Log-probability (nats, summed over tokens) of each statement as the assistant's reply to the chat prompt."""
    prefix = engine.encode_chat(messages, what)
    rows = [engine.tokenizer(s, add_special_tokens=False)["input_ids"] for s in statements]
    if not all(rows):
        raise GeoBenchError(f"{what}: a statement is empty")
    if len(prefix) + max(map(len, rows)) > engine.context:
        raise DoesNotFit(f"{what}: {len(prefix)} tokens and a statement do not fit the {engine.context} of `{engine.spec.name}`")
    if shared and decoder.supports(engine.model):
        return _shared(engine, prefix, rows)
    return [_alone(engine, prefix, row) for row in rows]


@torch.inference_mode()
def _alone(engine, prefix: list[int], row: list[int]) -> float:
    """One statement from scratch: the whole prompt again."""
    ids = torch.tensor([prefix + row], device=engine.device)
    logits = engine.model(ids, logits_to_keep=len(row) + 1).logits[0, :-1].float()
    return float(logits.log_softmax(-1).gather(1, ids[0, len(prefix) :, None]).sum())


@torch.inference_mode()
def _shared(engine, prefix: list[int], rows: list[list[int]]) -> list[float]:
    """All statements after one pass over the prompt. Padding stands behind each row's tokens, where no token sees it."""
    device, model = engine.device, engine.model
    head = decoder.forward(model, torch.tensor([prefix], device=device), keep=True)
    first = decoder.logits(model, head.hidden[0, -1]).log_softmax(-1)
    width = max(map(len, rows))
    padded = torch.tensor([r + [0] * (width - len(r)) for r in rows], device=device)
    hidden = decoder.forward(model, padded, head.own).hidden
    scores = []
    for n, row in enumerate(rows):
        total = float(first[row[0]])
        if len(row) > 1:
            logprobs = decoder.logits(model, hidden[n, : len(row) - 1]).log_softmax(-1)
            total += float(logprobs.gather(1, torch.tensor(row[1:], device=device)[:, None]).sum())
        scores.append(total)
    return scores


def margins(engine, messages: list[dict], pairs: list[tuple[str, str]], what: str = "prompt") -> list[float]:
    """log p(false) - log p(true) of each (false, true) pair."""
    scores = statement_logprobs(engine, messages, [s for pair in pairs for s in pair], what=what)
    return [scores[2 * n] - scores[2 * n + 1] for n in range(len(pairs))]
