"""The ten C-SEO rewrites: the rewriter replaces the description, keeping its facts (white-hat)."""

from collections.abc import Iterable, Iterator

from geobench.attacks.base import Task, rewritten, seed_of, windows
from geobench.engines.decoding import Decoding
from geobench.engines.reply import without_thinking
from geobench.prompts import load_prompt, prompt_sha, render


def identity(settings) -> dict:
    return {"prompt": prompt_sha("rewrites"), "seed": settings.seed, **_decoding(settings).identity()}


def _decoding(settings) -> Decoding:
    return Decoding(settings.rewrite_tokens, settings.rewrite_temperature)


def messages(method: str, task: Task) -> list[dict]:
    prompt = load_prompt("rewrites")[method]
    user = render(prompt["user"], name=task.item.name, text=task.item.description)
    return [{"role": "system", "content": prompt.get("system", "")}, {"role": "user", "content": user}]


def finished_text(method: str, task: Task, reply: str) -> str:
    """The new description: the text after the marker (statistics), the guidance before the original, or the reply itself."""
    marker = load_prompt("rewrites")[method].get("marker")
    said = without_thinking(reply)
    text = said.rsplit(marker, 1)[-1].strip() if marker else said
    if method == "llm_guidance":
        return f"{text}\n\n{task.item.description}" if text else task.item.description
    return text or task.item.description


def run(asked: Iterable[tuple[str, Task]], engine, settings) -> Iterator[tuple[Task, dict]]:
    """One edit per (method, task), prompts of all methods together; an empty reply leaves the description as it is."""
    for group in windows(asked, engine.batch_size):
        seeds = [seed_of(settings.seed, method, *t.key()) for method, t in group]
        replies = engine.generate([messages(*ask) for ask in group], _decoding(settings), seeds, [t.name for _, t in group])
        for (method, task), reply in zip(group, replies):
            yield task, rewritten(finished_text(method, task, reply.text), reply=reply.text, finish=reply.finish)
