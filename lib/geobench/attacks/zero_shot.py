"""Zero-Shot: the attacker writes one short snippet from the target alone; it is appended after a space."""

from collections.abc import Iterator

from geobench.attacks.base import Task, appended, seed_of, snippet, windows
from geobench.engines.decoding import Decoding
from geobench.prompts import load_prompt, prompt_sha, render


def identity(settings) -> dict:
    return {"prompt": prompt_sha("zero_shot"), "seed": settings.seed, **_decoding(settings).identity()}


def _decoding(settings) -> Decoding:
    return Decoding(settings.zero_shot_tokens, settings.zero_shot_temperature, settings.zero_shot_top_p)


def messages(task: Task) -> list[dict]:
    prompt = load_prompt("zero_shot")
    user = render(prompt["user"], noun=task.list.noun, name=task.item.name, description=task.item.description)
    return [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": user}]


def run(tasks, engine, settings) -> Iterator[tuple[Task, dict]]:
    """One edit per task."""
    for group in windows(tasks, engine.batch_size):
        seeds = [seed_of(settings.seed, "zero_shot", *t.key()) for t in group]
        replies = engine.generate([messages(t) for t in group], _decoding(settings), seeds, [t.name for t in group])
        for task, reply in zip(group, replies):
            yield task, appended(task, snippet(reply.text), reply=reply.text, finish=reply.finish)
