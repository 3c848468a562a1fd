"""What a plan would cost, counted without loading a model: calls, tokens, what sharing saves, memory, hours and dollars."""

from geobench import catalog, workload
from geobench.attacks import METHODS, entries, named
from geobench.endless import endless
from geobench.engines.api import settings
from geobench.errors import GeoBenchError
from geobench.ladder_workload import ladder
from geobench.models import spec

START = 8.0  # seconds that a notebook takes beside its models (a process, imports, loading weights): an assumption
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "auto": 2}
OVERHEAD = 1.2  # of the weights: keys, values and activations of a batch


def estimate(made) -> str:
    """The plan's work per notebook, and its hours and dollars per model."""
    p = made.params
    search = _search_lines(made)
    if all(n >= "11" for n in made.chosen):
        lines = [f"would run in {made.folder}: {', '.join(made.chosen)}", *search, *_models(_rated(made), len(made.chosen))]
        return "\n".join([*lines, *(f"warning: {said}" for said in endless(p, _rated(made)))])
    chosen = catalog.select(p.datasets, p.lists_per_dataset, p.targets_per_list, p.seed, p.target_rule)
    targets, rankings = sum(len(s.targets) for s in chosen), [workload.ranking(p, chosen, ranker) for ranker in p.rankers]
    ours = [work for work in _ranking_track(p, chosen) if work.notebook in made.chosen]
    lines = [
        f"would run in {made.folder}: {', '.join(made.chosen)}",
        f"{len(chosen)} lists, {targets} targets, {len(entries(p)) + len(p.external_edits)} variants",
        *(_ranking_line(p, work, ranker, targets) for work, ranker in zip(rankings, p.rankers)),
        _edits_line(p, targets),
        "tokens are estimates (characters / 4, texts at their limits); `repeated` is input that follows an equal prefix",
        *(line for name in dict.fromkeys(w.notebook for w in ours) for line in _notebook(name, ours)),
        *search,
        *_models([*ours, *_rated(made)], len(made.chosen)),
        *(f"warning: {said}" for said in endless(p, [*ours, *_rated(made)])),
    ]
    return "\n".join(lines)


def _ranking_track(p, chosen) -> list:
    rankings = [workload.ranking(p, chosen, ranker) for ranker in p.rankers]
    return [*workload.editing(p, chosen), *rankings, *workload.detection(p, chosen), *ladder(p, chosen)]


def refuse_endless(made) -> None:
    """GeoBenchError for a plan with work that no device finishes."""
    p = made.params
    chosen = catalog.select(p.datasets, p.lists_per_dataset, p.targets_per_list, p.seed, p.target_rule)
    found = [*(_ranking_track(p, chosen) if any(n < "11" for n in made.chosen) else []), *_rated(made)]
    if lines := endless(p, [work for work in found if work.notebook in made.chosen]):
        raise GeoBenchError(f"this cannot finish: {'; '.join(lines)}")


def _ranking_line(p, work, ranker: str, targets: int) -> str:
    count, methods = workload.orders_of(p, ranker), workload.ranked_methods(p, ranker)
    apart = 2 * count * len(methods) * targets
    saved = f", {1 - work.calls / apart:.0%} fewer than before and after apart" if apart else ""
    return f"  {ranker}: {work.calls} rankings ({count} orders){saved}"


def _edits_line(p, targets: int) -> str:
    """Generations of edits, and the most that TAP can ask for."""
    methods = [named(p, entry)[1] for entry in entries(p)]
    calls = sum(METHODS[m] in ("rewrites", "black_box") for m in methods if m != "tap") * targets
    nodes = methods.count("tap") * workload.tap_nodes(p) * targets
    return f"  edits: {calls} generations; TAP at most {nodes} generations and {nodes * p.tap_orders} search rankings"


def _notebook(name: str, found: list) -> list[str]:
    mine = [work for work in found if work.notebook == name]
    lines = [f"{name}: {_sum(mine, 'calls'):,} calls, {_sum(mine, 'tokens_in'):,} tokens in, {_sum(mine, 'tokens_out'):,} out"]
    for w in mine:
        repeated = f", {w.repeated / w.tokens_in:.0%} repeated" if w.tokens_in else ""
        lines.append(f"  {w.what} on {w.model}: {w.calls:,} calls, {w.tokens_in:,} in{repeated}, {w.tokens_out:,} out")
    return lines


def _sum(found: list, name: str) -> int:
    return sum(getattr(work, name) for work in found)


def _models(found: list, notebooks: int) -> list[str]:
    """Memory, hours and dollars per model; sums at the end."""
    lines, hours, dollars, unknown = [], notebooks * START / 3600, 0.0, []
    for model in dict.fromkeys(w.model for w in found if w.model != "bm25"):
        row, mine = spec(model), [w for w in found if w.model == model]
        if row.gives.served:
            cost, most = _dollars(row, mine)
            dollars += most or 0.0
            prices = "no prices in models.yaml" if most is None else f"about {cost:.2f}, at most {most:.2f} dollars"
            lines.append(f"{model}: API, {_sum(mine, 'calls'):,} calls, {prices}")
            continue
        memory = f"{row.parameters * BYTES[row.dtype]:.1f} GB of weights, plan for {row.parameters * BYTES[row.dtype] * OVERHEAD:.0f}"
        spent = _hours(row, mine)
        hours += spent or 0.0
        unknown += [model] if spent is None else []
        took = "hours unknown: no `throughput` in models.yaml" if spent is None else f"about {spent:,.1f} h ({row.throughput['source']})"
        lines.append(f"{model}: {memory if row.parameters else 'size unknown'}; {took}")
    left_out = f", without {', '.join(unknown)}" if unknown else ""
    return [*lines, f"in all about {hours:,.1f} hours on one device{left_out}, and at most {dollars:.2f} dollars, if all notebooks run"]


def _dollars(row, mine: list) -> tuple[float | None, float | None]:
    """(with replies as long as expected, with replies at their limit)."""
    prices = settings(row).prices
    if prices is None:
        return None, None
    most = sum(max(w.tokens_out, w.limit) for w in mine)
    return prices.dollars(_sum(mine, "tokens_in"), _sum(mine, "tokens_out")), prices.dollars(_sum(mine, "tokens_in"), most)


def _hours(row, mine: list) -> float | None:
    """Input at the row's prefill rate, without what is computed once for many calls; output at its decoding rate."""
    if not row.throughput:
        return None
    read = _sum(mine, "tokens_in") - _sum(mine, "free")
    return (read / row.throughput["input"] + _sum(mine, "tokens_out") / row.throughput["output"]) / 3600


def _rated(made) -> list:
    """The search track's work on models with a `throughput`; what the others cost is estimated with the search track's lines."""
    from geobench.search.workload import search_work

    if not any(n >= "11" for n in made.chosen):
        return []
    return [work for work in search_work(made.params) if work.notebook in made.chosen and spec(work.model).throughput]


def _search_lines(made) -> list[str]:
    """The search track's part, where its notebooks are chosen."""
    if not any(n >= "11" for n in made.chosen):
        return []
    from geobench.search.defences import cost

    return cost.estimate(made.params, cost.count(made.params))
