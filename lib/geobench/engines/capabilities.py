"""What each engine can give: the one table that the registry, roles, preflight, dry run, executors, the engines themselves and
docs/engines.md read. A new engine is a row here and the class that it names."""

from dataclasses import dataclass

from geobench.errors import GeoBenchError


@dataclass(frozen=True)
class Engine:
    """load: per kind of model the class that loads it; ready: what is checked before, without loading. The flags are `GIVES`' keys."""

    title: str
    where: str  # how an error says where such a model runs
    load: dict[str, str]  # "module:name", so that nothing is imported that is not used
    ready: str | None = None
    read_outs: tuple[str, ...] = ("generate", "cross_encoder")
    chat: bool = True
    seeded: bool = True
    tokens: bool = True
    next_logprobs: bool = True
    text_logprobs: bool = True
    gradients: bool = False
    structured: bool = False
    served: bool = False  # by a server that is paid per token: no weights, memory, worker or device of ours
    alone: bool = False  # one model lives per process


GIVES = {
    "chat": "replies to chat prompts",
    "seeded": "sampling that a seed repeats",
    "tokens": "the tokens of a prompt",
    "next_logprobs": "log-probabilities of the next token",
    "text_logprobs": "log-probabilities of a given text",
    "gradients": "gradients",
    "structured": "structured output",
}
UNLISTED = "log-probabilities (`api: top_logprobs:` in params/models.yaml is 0)"  # a server's row says how many it gives
USES = {
    "chat": "black-box attacks, rewrites, `generate`, written victims, guard models",
    "seeded": "TAP, Zero-Shot",
    "tokens": "`likelihood` victims",
    "next_logprobs": "judge, `cross_encoder` of a causal model",
    "text_logprobs": "perplexity (`reference_model`)",
    "gradients": "white-box attacks; `attention` and `likelihood` read the same loaded model",
    "structured": "`rank_structure`",
}
ENGINES = {
    "local": Engine(
        "this process", "runs in this process",
        {
            "causal_lm": "geobench.engines.local:LocalModel", "bi_encoder": "geobench.engines.encoders:Encoder",
            "cross_encoder": "geobench.engines.encoders:Encoder",
        },
        read_outs=("attention", "generate", "cross_encoder", "bi_encoder", "bm25"), gradients=True,
    ),
    "openai": Engine(
        "an API", "is served over an API", {"causal_lm": "geobench.engines.openai:OpenAIModel"}, "geobench.engines.api:key",
        tokens=False, text_logprobs=False, served=True,
    ),
    "vllm": Engine(
        "vLLM", "runs under vLLM", {"causal_lm": "geobench.engines.vllm:VllmModel"}, "geobench.engines.vllm_settings:require",
        structured=True, alone=True,
    ),
}  # fmt: skip


def refusal(role: str, model: str, engine: str, thing: str) -> GeoBenchError:
    """The error of a model that is asked for what its engine does not give."""
    return GeoBenchError(f"{role}: `{model}` {ENGINES[engine].where}, which does not give {thing}; use a local model")


def engines_with(capability: str) -> list[str]:
    return [name for name, engine in ENGINES.items() if getattr(engine, capability)]


def document() -> str:
    """The table as Markdown: docs/engines.md."""
    rows = [["an engine gives", *(f"`{name}`" for name in ENGINES), "used by"], ["---"] * (len(ENGINES) + 2)]
    for key, words in GIVES.items():
        rows.append([words, *("yes" if getattr(e, key) else "no" for e in ENGINES.values()), USES[key]])
    rows.append(["read-outs", *(", ".join(e.read_outs) for e in ENGINES.values()), "rankers"])
    rows.append(["kinds of model", *(", ".join(e.load) for e in ENGINES.values()), "`kind` in params/models.yaml"])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"
