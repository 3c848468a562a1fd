"""Adapter to the `nemoguardrails` package where it is installed (checked with 0.24.1): its own rail checks a draft against the evidence.

The package has its own prompt template, parser and polarity; `reply_guards.SelfCheck` is our implementation of what it documents, for
machines without it. Both pass a draft without evidence and a reply that is neither yes nor no.
"""

from geobench.engines.reply import without_thinking
from geobench.errors import GeoBenchError
from geobench.prompts import load_prompt
from geobench.search.defences.base import Decision

CONFIG = {"models": [], "rails": {"output": {"flows": ["self check facts"]}}}
TASK = "self_check_facts"


class _Served:
    """One of our engines as the package's language model."""

    provider_name = provider_url = None

    def __init__(self, engine, tokens: int):
        self.engine, self.tokens, self.model_name = engine, tokens, engine.identity()["model"]

    async def generate_async(self, prompt, *, stop=None, **_):
        from nemoguardrails.types import LLMResponse

        from geobench.engines.decoding import Decoding

        text = prompt if isinstance(prompt, str) else "\n\n".join(m.content for m in prompt)
        reply = self.engine.generate([[{"role": "user", "content": text}]], Decoding(self.tokens), names=["self-check"])[0]
        return LLMResponse(content=without_thinking(reply.text))

    async def stream_async(self, prompt, *, stop=None, **_):
        yield await self.generate_async(prompt)


class NemoPackage:
    """`rails`: an LLMRails of your own; else one that asks `engine` with our prompt, or one read from a `folder` of its configuration."""

    name = "nemo_package"

    def __init__(self, rails=None, folder=None, engine=None, tokens: int = 12):
        self.rails = rails or _rails(folder, engine, tokens)

    def decide(self, drafts: list[str], evidence: list[str]) -> list[Decision]:
        """Risk where an output rail stopped the draft; `raw` is what the user would get."""
        made = []
        for draft, shown in zip(drafts, evidence):
            context = {"role": "context", "content": {"relevant_chunks": shown, "check_facts": True}}
            user = {"role": "user", "content": "(the check sees the draft and the text alone)"}
            turns = [context, user, {"role": "assistant", "content": draft}]
            answer = self.rails.generate(messages=turns, options={"rails": ["output"], "log": {"activated_rails": True}})
            stopped = [r.name for r in answer.log.activated_rails if r.stop]
            made.append(Decision(bool(stopped), "yes_is_grounded", None, str(answer.response), ", ".join(stopped)))
        return made


def _rails(folder, engine, tokens: int):
    try:
        from nemoguardrails import LLMRails, RailsConfig
    except ImportError as error:
        raise GeoBenchError("nemo package: `nemoguardrails` is not installed; `nemo` is our own implementation") from error
    if folder:
        return LLMRails(RailsConfig.from_path(str(folder)))
    prompt = load_prompt("search_self_check")
    user = prompt["user"].replace("{evidence}", "{{ evidence }}").replace("{draft}", "{{ response }}")
    config = CONFIG | {"prompts": [{"task": TASK, "content": f"{prompt['system']}\n\n{user}"}]}
    return LLMRails(RailsConfig.from_content(config=config), llm=_Served(engine, tokens))
