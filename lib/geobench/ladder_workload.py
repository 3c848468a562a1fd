"""How much work the evaluation ladder (notebook 09) is, counted as geobench.workload counts."""

from dataclasses import replace

from geobench.attacks import entries, named
from geobench.ladder import configurations
from geobench.rankers import parse_name
from geobench.workload import Work, ranking


def ladder(params, chosen) -> list[Work]:
    """The evaluation ladder: its variants' edits of the first targets, ranked once per script."""
    from geobench.ladder_scripts import READ_OUTS, factors_of

    if parse_name(params.main_ranker)[1] not in READ_OUTS:
        return []
    rungs = (rung[3] for rung in configurations(factors_of(params.main_ranker)))
    scripts = len({tuple(value for name, value in rung.items() if name != "orders") for rung in rungs})
    made = (named(params, entry)[:2] for entry in entries(params))
    methods = [method for variant, method in made if params.ladder_variants is None or variant in params.ladder_variants]
    work = ranking(params, [replace(one, targets=one.targets[: params.ladder_targets]) for one in chosen], params.main_ranker, methods)
    counts = {name: scripts * getattr(work, name) for name in ("calls", "tokens_in", "tokens_out", "repeated", "limit", "free")}
    return [replace(work, notebook="09_evaluation_ladder", what=f"{params.main_ranker} under {scripts} scripts", **counts)]
