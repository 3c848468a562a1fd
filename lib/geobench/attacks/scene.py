"""What a white-box attack optimises in: a prompt under one order, cut at the slot where the suffix goes.

A scene's prompt is the evaluation's (`deployed`) or the method's own; its objective is the probability of a reply (`target`) or
the target's place in the attention read-out (`attention`). Clean prompts are computed once per order and list.
"""

from dataclasses import dataclass, replace
from os.path import commonprefix

from geobench.attacks.base import Task
from geobench.attacks.vocabulary import Vocabulary
from geobench.errors import GeoBenchError
from geobench.kernels.candidates import prefix
from geobench.kernels.decoder import Prefix
from geobench.kernels.readout import Wanted
from geobench.lists import one_line
from geobench.prompts import load_prompt, render
from geobench.rankers.attention import AttentionRanker
from geobench.rankers.base import Job
from geobench.rankers.generate import GenerateRanker

MARK = "\u2063"  # stands where the suffix goes while the prompt is rendered; never reaches the model
STARTS = (("*", "*"), ("*", "x"), ("!", "x"), ("x", "x"))  # symbol of all places but the last, and of the last
PUNCTUATION = ".,;:!?()[]\"'“”‘’"  # around a word
SHORT = 4  # characters of a word, its space included, that is left out of a start: mostly articles and prepositions
WINDOW = 64  # characters of context in which a candidate is encoded back


@dataclass(frozen=True)
class Scene:
    """The prompt under one order: its text and tokens around the slot, the keys and values before it, and what is wanted: `goal`,
    the reply's tokens, or `wanted`, the target's place in the attention read-out."""

    before: str
    after: str
    head: list[int]
    tail: list[int]
    goal: list[int]
    past: Prefix | None = None
    wanted: Wanted | None = None


def scenes_of(task: Task, engine, orders, size: int, words: Vocabulary, cache: dict, style: str | None = None, objective="target",
              start="symbols"):
    """(a scene per order, a start slot of `size` tokens that stands in all of them). style: None for the deployed prompt, else the
    method. cache: clean tokens and prefix per order of the task's list, for all its targets and methods. start: `description` begins
    from the target's own words, where enough of them are one token; else from symbols."""
    frames = [_frame(task, engine, order, style, objective) for order in orders]
    for text in [*(own_words(task, size, words) if start == "description" else ()), *symbols(size)]:
        scenes, slots = zip(*(_scene(task, engine, frame, order, text, size, style, objective) for frame, order in zip(frames, orders)))
        if words.text(slots[0]) == text and len(set(map(tuple, slots))) == 1 and stands(slots[0], engine, scenes, words):
            pasts = [_past(task, engine, order, scene.head, cache, style, objective) for order, scene in zip(orders, scenes)]
            return [replace(scene, past=past) for scene, past in zip(scenes, pasts)], slots[0]
    raise GeoBenchError(f"{task.name}: no start of {size} one-token symbols stands in the prompt of `{engine.spec.name}`")


def symbols(size: int) -> list[str]:
    """Start texts of `size` symbols."""
    return [f" {most}" * (size - 1) + f" {last}" for most, last in STARTS]


def own_words(task: Task, size: int, words: Vocabulary) -> list[str]:
    """A start text of `size` words of the target's description, in their order and again from the first; none where it has no word of
    one token."""
    code = words.tokenizer
    plain = (" " + word.strip(PUNCTUATION) for word in task.item.description.split())
    coded = {text: code(text, add_special_tokens=False)["input_ids"] for text in plain if len(text) > SHORT}
    own = [text for text, ids in coded.items() if len(ids) == 1 and words.first[ids[0]]]
    return ["".join((own * size)[:size])] if own else []


def stands(slot: list[int], engine, scenes, words: Vocabulary) -> bool:
    """Whether the slot's text is one line and encodes back to the same tokens in every scene's whole prompt."""
    code, bos, text = engine.tokenizer, engine.tokenizer.bos_token_id, words.text(slot)
    coded = ((s, list(code(s.before + text + s.after, add_special_tokens=False)["input_ids"])) for s in scenes)
    return words.reads(slot) and all(s.head + slot + s.tail in (ids, [bos, *ids]) for s, ids in coded)


def survivors(slots: list[list[int]], start: list[int], engine, scenes, words: Vocabulary) -> list[list[int]]:
    """The slots that encode back to themselves between the characters around them, in every scene; `start` is known to."""
    kept = [slot for slot in slots if words.reads(slot)]
    for before, after in dict.fromkeys((s.before[-WINDOW:], s.after[:WINDOW]) for s in scenes):
        coded = engine.tokenizer([before + words.text(slot) + after for slot in [start, *kept]], add_special_tokens=False)["input_ids"]
        at = len(engine.tokenizer(before, add_special_tokens=False)["input_ids"])
        head, tail = coded[0][:at], coded[0][at + len(start) :]
        kept = [slot for slot, ids in zip(kept, coded[1:]) if ids == head + slot + tail]
    return kept


def wanted(task: Task, style: str | None) -> str:
    """The reply's start whose probability the attack raises."""
    text = load_prompt("white_box")[style]["reply"] if style else "1. {name}"
    return render(text, name=one_line(task.item.name))


def _render(engine, job: Job, order, style: str | None, objective: str) -> str:
    """The whole prompt text of a job, up to where the model's reply (or the read-out's query) begins."""
    if objective == "attention":
        return AttentionRanker("white-box", engine).prompt_text(job, order)[0]
    if style is None:
        return engine.chat_text(GenerateRanker("white-box", engine).messages(job, order))
    prompt = load_prompt("white_box")[style]
    lines = [render(prompt["item_line"], name=job.names()[i], description=job.texts()[i]) for i in order]
    user = "\n\n".join([prompt["items_header"], "\n".join(lines), render(prompt["ask"], noun=job.list.noun)])
    return engine.chat_text([{"role": "system", "content": prompt["system"]}, {"role": "user", "content": user}]) + prompt["prefill"]


def _frame(task: Task, engine, order, style, objective) -> tuple[str, str]:
    """The rendered prompt before and after the suffix."""
    job = Job(task.list, (order,), task.target, task.item.description + MARK, "white-box")
    parts = _render(engine, job, order, style, objective).split(MARK)
    if len(parts) != 2:
        raise GeoBenchError(f"{task.name}: the prompt holds the reserved character U+2063, or the template repeats the description")
    return parts[0], parts[1]


def _scene(task: Task, engine, frame: tuple[str, str], order, text: str, size: int, style, objective) -> tuple[Scene, list[int]]:
    """The scene of a start text, still without prefix, and the tokens that stand at its slot."""
    before, after = frame
    whole, head = before + text + after, engine.encode(before, task.name)
    cut = len(head) + size
    if objective == "attention":
        ranker = AttentionRanker("white-box", engine)
        job = Job(task.list, (order,), task.target, task.item.description + text, "white-box")
        ids, spans = ranker.tokens(job, order)
        place = Wanted(ranker.heads, *ranker.queries(job), tuple(spans), order.index(task.target - 1), len(head), size)
        return Scene(before, after, head, ids[cut:], [], None, place), ids[len(head) : cut]
    reply = wanted(task, style)
    ids, both = engine.encode(whole, task.name), engine.encode(whole + reply, task.name)
    goal = both[len(ids) :] if both[: len(ids)] == ids else engine.tokenizer(reply, add_special_tokens=False)["input_ids"]
    engine.encode(whole, task.name, room=len(goal))
    return Scene(before, after, head, ids[cut:], list(goal)), ids[len(head) : cut]


def _past(task: Task, engine, order, head: list[int], cache: dict, style, objective) -> Prefix:
    """Keys and values of `head`: the clean prompt's where they agree, which are computed once per order and list."""
    key = task.list.key, order, style, objective
    if key not in cache:
        for other in [k for k in cache if k[0] != task.list.key]:
            del cache[other]
        clean = engine.encode(_render(engine, Job(task.list, (order,)), order, style, objective), task.name)
        cache[key] = clean, prefix(engine.model, clean)
    clean, past = cache[key]
    same = len(commonprefix((clean, head)))
    return prefix(engine.model, head[same:], past.crop(same))
