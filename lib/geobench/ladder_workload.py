"""How much work the evaluation ladder (notebook 09) is, counted as geobench.workload counts."""

from dataclasses import replace

from geobench.ladder import configurations
from geobench.rankers import parse_name
from geobench.workload import Work, ranking, variants


def ladder(params, chosen) -> list[Work]:
    """The evaluation ladder of each of its rankers: its variants' edits of the first targets, ranked once per script. Further checkpoints
    of an optimised text, which the published selection ranks too, are not counted, nor the protocol's script where notebook 05 ranks it."""
    few = [replace(one, targets=one.targets[: params.ladder_targets]) for one in chosen[: params.ladder_lists]]
    shared = {"orders_mode": "shared"}
    rankers = params.ladder_rankers or [params.main_ranker]
    had = params.rankers if params.orders_mode == "shared" else ()
    listwise = [r for r in rankers if parse_name(r)[1] in ("attention", "generate")]
    return [_of(params.model_copy(update=shared), few, r, r in had) for r in listwise]


def _of(params, chosen, ranker: str, had: bool) -> Work:
    from geobench.ladder_factors import SCRIPT, factors_of

    replies = parse_name(ranker)[1] == "generate"
    asked = [names for names in (params.ladder_variants, params.generate_variants if replies else None) if names is not None]
    made = variants(params)
    methods = [method for variant, method in made if all(variant in names for names in asked)] or [method for _, method in made[:1]]
    script = SCRIPT[parse_name(ranker)[1]]
    scripts = len({tuple(rung[3][name] for name in script) for rung in configurations(factors_of(ranker), params.ladder_parts)}) - had
    (work,) = ranking(params, chosen, ranker, methods)
    counts = {name: scripts * getattr(work, name) for name in ("calls", "tokens_in", "tokens_out", "repeated", "limit")}
    return replace(work, notebook="09_evaluation_ladder", what=f"{ranker} under {scripts} scripts", **counts)
