"""Which engine can play which role: what a model's engine cannot give is refused before any model loads."""

from geobench.attacks import named, split
from geobench.errors import GeoBenchError
from geobench.models import spec
from geobench.rankers import parse_name
from geobench.rankers.structure import require

ELSEWHERE = {"openai": "is served over an API", "vllm": "runs under vLLM"}


def refuse(params) -> None:
    """GeoBenchError for the first model whose engine cannot do what the parameters ask of it."""
    for entry in params.white_box:
        _must_give("white_box", named(params, entry)[2], "gradients", ("openai", "vllm"))
    _must_give("reference_model", params.reference_model, "log-probabilities of a given text", ("openai",))
    _one_vllm_engine(params)
    for model, read_out in map(parse_name, params.rankers):
        if read_out == "generate":
            require(params.rank_structure, spec(model).engine, f"`{model}`")


def _must_give(role: str, model: str, what: str, without: tuple[str, ...]) -> None:
    if (engine := spec(model).engine) in without:
        raise GeoBenchError(f"{role}: `{model}` {ELSEWHERE[engine]}, which does not give {what}; use a local model")


def _one_vllm_engine(params) -> None:
    """TAP's attacker and ranker work in turns; two vLLM engines cannot, since one lives per process."""
    ranker = parse_name(params.tap_ranker)[0]
    for entry in params.black_box:
        attacker = named(params, entry)[2]
        together = split(entry)[0] == "tap" and ranker not in (None, attacker)
        if together and spec(attacker).engine == spec(ranker).engine == "vllm":
            raise GeoBenchError(f"tap_ranker: `{ranker}` and TAP's attacker `{attacker}` both run under vLLM, and only one lives at a time")
