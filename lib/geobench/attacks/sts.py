"""STS, strategic text sequences (Kumar & Lakkaraju 2024): a greedy coordinate gradient search (Zou et al. 2023) for a suffix
after which the reply to the `generate` ranking prompt starts with "1. {Name}".

Three departures from the published search: the incumbent stays a candidate, so that its loss never rises under an order; only
slots whose text encodes back to the same tokens in place, under every search order, are tried; and the suffix is the incumbent
of lowest mean loss over all search orders, so that every run ends with one.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from geobench.attacks.base import Task, appended, seed_of
from geobench.errors import GeoBenchError
from geobench.lists import one_line
from geobench.orders import search_orders
from geobench.prompts import prompt_sha
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker

MARK = "\u2063"  # stands where the suffix goes while the prompt is rendered; never reaches the model
SETTINGS = ("sts_tokens", "sts_steps", "sts_candidates", "sts_top_k", "sts_orders", "seed")
STARTS = (("*", "*"), ("*", "x"), ("!", "x"), ("x", "x"))  # symbol of all places but the last, and of the last


@dataclass(frozen=True)
class Scene:
    """The prompt under one order: its text around the slot, its tokens around the slot, the reply wanted, the prefix."""

    before: str
    after: str
    head: list[int]
    tail: list[int]
    goal: list[int]
    past: object


@dataclass(frozen=True)
class Vocabulary:
    """`texts[v]`: what token v reads as inside a text. `inner`, `first` [V] booleans: allowed after and at the first place."""

    tokenizer: object
    anchor: list[int]
    texts: list[str]
    inner: object
    first: object

    def text(self, slot: list[int]) -> str:
        """The slot's text as it follows other text, leading space included."""
        return _decode(self.tokenizer, [self.anchor + slot])[0][len(self.texts[self.anchor[0]]) :]


def identity(settings) -> dict:
    """What determines the suffixes, the engine aside."""
    return {"prompt": prompt_sha("ranking"), **{name: getattr(settings, name) for name in SETTINGS}}


def run(tasks, engine, settings) -> Iterator[tuple[Task, dict]]:
    """One edit per task, with its trace; tasks of one list should come together. GeoBenchError for an engine without gradients."""
    from geobench.kernels import decoder

    model = getattr(engine, "model", None)
    if model is None or not decoder.supports(model):
        what = type(engine if model is None else model).__name__
        raise GeoBenchError(f"sts needs gradients of a local Llama-, Qwen2- or Mistral-type decoder; {what} gives none")
    _check(settings)
    words, cache, current = vocabulary(engine), {}, None
    for task in tasks:
        if task.list.key != current:
            current, cache = task.list.key, {}
        suffix, trace = search(task, engine, settings, words, cache)
        yield task, appended(task, suffix, trace=trace)


def search(task: Task, engine, settings, words: Vocabulary, cache: dict) -> tuple[str, list[dict]]:
    """(best suffix, the start and the incumbent after each step). cache: clean tokens and prefix per order of the task's list."""
    from geobench.kernels.candidates import candidate_losses, token_gradient

    orders = search_orders(task.list.key, len(task.list), settings.sts_orders, settings.seed)
    scenes, slot = scenes_of(task, engine, [tuple(order) for order in orders], settings.sts_tokens, words, cache)
    incumbents, trace = {tuple(slot): None}, []
    for step in range(settings.sts_steps):
        scene = scenes[step % len(scenes)]
        _, gradient = token_gradient(engine.model, scene.past, slot, scene.tail, scene.goal)
        rng = random.Random(seed_of(settings.seed, task.list.key, task.target, step))
        tried = [slot, *(s for s in swaps(slot, gradient, words, settings, rng) if survives(s, engine, scenes, words))]
        losses = candidate_losses(engine.model, scene.past, tried, scene.tail, scene.goal)
        trace = trace or [{"step": 0, "loss": losses[0], "suffix": words.text(slot)[1:]}]
        best = min(range(len(tried)), key=losses.__getitem__)  # the first of equals: the incumbent
        slot = tried[best]
        incumbents[tuple(slot)] = None
        trace.append({"step": step + 1, "loss": losses[best], "suffix": words.text(slot)[1:]})
    pool = [list(s) for s in incumbents]
    totals = [0.0] * len(pool)
    for scene in scenes:
        losses = candidate_losses(engine.model, scene.past, pool, scene.tail, scene.goal)
        totals = [total + loss for total, loss in zip(totals, losses)]
    return words.text(pool[min(range(len(pool)), key=totals.__getitem__)])[1:], trace


def swaps(slot: list[int], gradient, words: Vocabulary, settings, rng: random.Random) -> list[list[int]]:
    """Distinct single swaps out of `sts_candidates` draws: a random place and one of its top-k tokens. gradient: [slot, V]."""
    import torch

    allowed = words.inner.expand(len(slot), -1).clone()
    allowed[0] = words.first
    scores = (-gradient.cpu()[:, : allowed.shape[1]]).masked_fill(~allowed, float("-inf"))
    counts = allowed.sum(1).clamp(max=settings.sts_top_k).tolist()
    top = torch.sort(scores, descending=True, stable=True).indices[:, : settings.sts_top_k].tolist()
    drawn: dict[tuple, None] = {}
    for _ in range(settings.sts_candidates):
        place = rng.randrange(len(slot))
        if counts[place]:
            token = top[place][rng.randrange(counts[place])]
            drawn[(*slot[:place], token, *slot[place + 1 :])] = None
    drawn.pop(tuple(slot), None)
    return [list(s) for s in drawn]


def survives(slot: list[int], engine, scenes: list[Scene], words: Vocabulary) -> bool:
    """Whether the slot's text is one line after a space and encodes back to the same tokens in every scene."""
    text = words.text(slot)
    if text != " " + one_line(text):
        return False
    code, bos = engine.tokenizer, engine.tokenizer.bos_token_id
    coded = ((s, list(code(s.before + text + s.after, add_special_tokens=False)["input_ids"])) for s in scenes)
    return all(s.head + slot + s.tail in (ids, [bos, *ids]) for s, ids in coded)


def scenes_of(task: Task, engine, orders, size: int, words: Vocabulary, cache: dict) -> tuple[list[Scene], list[int]]:
    """A scene per order, and the first slot of `size` tokens that stands in all of them."""
    frames = [_frame(task, engine, order) for order in orders]
    for most, last in STARTS:
        text = f" {most}" * (size - 1) + f" {last}"
        scenes, slots = zip(*(_scene(task, engine, frame, text, size) for frame in frames))
        if words.text(slots[0]) == text and survives(slots[0], engine, scenes, words):
            pasts = [_past(task, engine, order, scene.head, cache) for order, scene in zip(orders, scenes)]
            return [replace(scene, past=past) for scene, past in zip(scenes, pasts)], slots[0]
    raise GeoBenchError(f"{task.name}: no start of {size} one-token symbols stands in the prompt of `{engine.spec.name}`")


def _frame(task: Task, engine, order) -> tuple[str, str]:
    """The rendered prompt before and after the suffix."""
    job = Job(task.list, (order,), task.target, task.item.description + MARK, "sts")
    parts = engine.chat_text(GenerateRanker("sts", engine).messages(job, order)).split(MARK)
    if len(parts) != 2:
        raise GeoBenchError(f"{task.name}: the prompt holds the reserved character U+2063, or the template repeats the description")
    return parts[0], parts[1]


def _scene(task: Task, engine, frame: tuple[str, str], text: str, size: int) -> tuple[Scene, list[int]]:
    """The scene of a start text, still without prefix, and the tokens that stand at its slot."""
    before, after = frame
    whole, wanted = before + text + after, f"1. {one_line(task.item.name)}"
    ids, reply = engine.encode(whole, task.name), engine.encode(whole + wanted, task.name)
    goal = reply[len(ids) :] if reply[: len(ids)] == ids else engine.tokenizer(wanted, add_special_tokens=False)["input_ids"]
    engine.encode(whole, task.name, room=len(goal))
    head = engine.encode(before, task.name)
    cut = len(head) + size
    return Scene(before, after, head, ids[cut:], list(goal), None), ids[len(head) : cut]


def _past(task: Task, engine, order, head: list[int], cache: dict):
    """Keys and values of `head`: the clean prompt's where they agree, which are computed once per order and list."""
    from geobench.kernels.candidates import prefix

    if order not in cache:
        messages = GenerateRanker("sts", engine).messages(Job(task.list, (order,)), order)
        clean = engine.encode_chat(messages, task.name)
        cache[order] = clean, prefix(engine.model, clean)
    clean, past = cache[order]
    same = next((n for n, pair in enumerate(zip(clean, head)) if pair[0] != pair[1]), min(len(clean), len(head)))
    return prefix(engine.model, head[same:], past.crop(same))


def vocabulary(engine) -> Vocabulary:
    """The tokens allowed in a suffix: printable ASCII that is not only spaces, none of them special."""
    import torch

    tokenizer = engine.tokenizer
    size = min(len(tokenizer), engine.model.model.embed_tokens.weight.shape[0])
    anchor = tokenizer("a", add_special_tokens=False)["input_ids"][-1:]
    base = _decode(tokenizer, [anchor])[0]
    texts = [text[len(base) :] for text in _decode(tokenizer, [[*anchor, v] for v in range(size)])]
    texts[anchor[0]] = base
    special = {*tokenizer.all_special_ids, *tokenizer.get_added_vocab().values()}
    inner = [bool(t.strip()) and t.isascii() and t.isprintable() and v not in special for v, t in enumerate(texts)]
    first = [ok and t.startswith(" ") for ok, t in zip(inner, texts)]
    return Vocabulary(tokenizer, anchor, texts, torch.tensor(inner), torch.tensor(first))


def _decode(tokenizer, rows: list[list[int]]) -> list[str]:
    return tokenizer.batch_decode(rows, skip_special_tokens=False, clean_up_tokenization_spaces=False)


def _check(settings) -> None:
    for name in SETTINGS[:-1]:
        if getattr(settings, name) < 1:
            raise GeoBenchError(f"{name}: expected a whole number of 1 or more, got {getattr(settings, name)!r}")
