"""Which model can play which role: what a model or its engine cannot give is refused before any model loads."""

from collections import Counter

from geobench.attacks import entries, named, split
from geobench.engines.api import settings
from geobench.engines.capabilities import GIVES, UNLISTED, refusal
from geobench.errors import GeoBenchError
from geobench.ladder_factors import factors_of
from geobench.models import require_kind, spec
from geobench.rankers import parse_name, windows
from geobench.rankers.structure import require


def require_models(params) -> None:
    """GeoBenchError for the first model that is unknown or cannot play its role, and for a variant that is asked for twice."""
    require_kind("detector", params.detector, "bi_encoder")
    windows.require(params.generate_window, params.generate_stride)
    for role in ("attacker", "rewriter", "optimised_on", "judge", "reference_model"):
        require_kind(role, getattr(params, role), "causal_lm")
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
        _must_give("white_box", named(params, entry)[2], "gradients")
    _must_give("reference_model", params.reference_model, "text_logprobs")
    _must_answer("judge", params.judge)
    _one_at_a_time(params)
    _structured(params, "rankers", params.rankers)
    for model, read_out in map(parse_name, params.rankers):
        if read_out == "cross_encoder":
            _must_answer("rankers", model)


def refuse_ladder(params) -> None:
    """GeoBenchError for a ranker of the evaluation ladder (notebook 09) that cannot hold its replies to `rank_structure`."""
    _structured(params, "ladder_rankers", params.ladder_rankers or [params.main_ranker])


def _structured(params, role: str, rankers: list[str]) -> None:
    for model, read_out in map(parse_name, rankers):
        if read_out == "generate":
            require(params.rank_structure, spec(model).engine, f"`{model}` of {role}")


def _must_give(role: str, model: str, capability: str) -> None:
    row = spec(model)
    if not getattr(row.gives, capability):
        raise refusal(role, model, row.engine, GIVES[capability])


def _must_answer(role: str, model: str) -> None:
    """A server gives the log-probabilities that its row says it gives."""
    row = spec(model)
    if row.gives.served and not settings(row).top_logprobs:
        raise refusal(role, model, row.engine, UNLISTED)


def _one_at_a_time(params) -> None:
    """TAP's attacker and ranker work in turns; two models of an engine that holds one per process (vLLM) cannot."""
    ranker = parse_name(params.tap_ranker)[0]
    for entry in params.black_box:
        attacker = named(params, entry)[2]
        together = split(entry)[0] == "tap" and ranker not in (None, attacker)
        if together and spec(attacker).engine == spec(ranker).engine and spec(ranker).gives.alone:
            title = spec(ranker).gives.title
            raise GeoBenchError(
                f"tap_ranker: `{ranker}` and TAP's attacker `{attacker}` both run under {title}, and only one lives at a time"
            )
