"""Which model can play which role: what a model or its engine cannot give is refused before any model loads."""

from collections import Counter

from geobench.attacks import entries, named, split
from geobench.errors import GeoBenchError
from geobench.models import spec
from geobench.rankers import parse_name, windows
from geobench.rankers.structure import require

ELSEWHERE = {"openai": "is served over an API", "vllm": "runs under vLLM"}


def require_models(params) -> None:
    """GeoBenchError for the first model that is unknown or cannot play its role, and for a variant that is asked for twice."""
    from geobench.ladder_scripts import factors_of

    spec(params.detector)
    windows.require(params.generate_window, params.generate_stride)
    for role in ("attacker", "rewriter", "optimised_on", "judge", "reference_model"):
        row = spec(getattr(params, role))
        if row.kind != "causal_lm":
            raise GeoBenchError(f"{role}: expected a causal language model (kind `causal_lm`), got `{row.name}`, a `{row.kind}`")
    twice = [v for v, n in Counter(named(params, entry)[0] for entry in entries(params)).items() if n > 1]
    if twice:
        raise GeoBenchError(f"variant `{twice[0]}` is asked for twice (a method without a model takes its group's)")
    for ranker in (*params.rankers, params.main_ranker, params.tap_ranker, params.optimisation_ranker):
        parse_name(ranker)
    for ranker in params.ladder_rankers or ():
        factors_of(ranker)
    refuse(params)


def refuse(params) -> None:
    """GeoBenchError for the first model whose engine cannot do what the parameters ask of it."""
    for entry in params.white_box:
        _must_give("white_box", named(params, entry)[2], "gradients", ("openai", "vllm"))
    _must_give("reference_model", params.reference_model, "log-probabilities of a given text", ("openai",))
    _one_vllm_engine(params)
    _structured(params, "rankers", params.rankers)


def refuse_ladder(params) -> None:
    """GeoBenchError for a ranker of the evaluation ladder (notebook 09) that cannot hold its replies to `rank_structure`."""
    _structured(params, "ladder_rankers", params.ladder_rankers or [params.main_ranker])


def _structured(params, role: str, rankers: list[str]) -> None:
    for model, read_out in map(parse_name, rankers):
        if read_out == "generate":
            require(params.rank_structure, spec(model).engine, f"`{model}` of {role}")


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
