"""What a plan would cost, counted without loading a model: calls, tokens, what sharing saves, memory, hours and dollars."""

from geobench import workload
from geobench.attacks import METHODS, named
from geobench.edit_workload import editing, tap_nodes
from geobench.endless import endless
from geobench.engines.api import settings
from geobench.errors import GeoBenchError
from geobench.ladder_workload import ladder
from geobench.models import spec
from geobench.run import chosen_lists

START = 8.0  # seconds that a notebook takes beside its models (a process, imports, loading weights): an assumption
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "auto": 2}
OVERHEAD = 1.2  # of the weights: keys, values and activations of a batch


def estimate(made) -> str:
    """The plan's work per notebook, and its hours and dollars per model."""
    chosen, found = planned(made)
    return "\n".join([
        f"would run in {made.folder}: {', '.join(made.chosen)}",
        *(_ranking_lines(made.params, chosen) if chosen else []),
        *(_search_lines(made.params) if any(name >= "11" for name in made.chosen) else []),
        "tokens are estimates (characters / 4, texts at their limits); `repeated` is input that follows an equal prefix",
        *(line for name in made.chosen for line in _notebook(name, [w for w in found if w.notebook == name])),
        *_models(found, len(made.chosen)),
        *(f"warning: {said}" for said in endless(made.params, found)),
    ])  # fmt: skip


def planned(made) -> tuple[list, list[workload.Work]]:
    """(lists of the ranking track, work of both tracks) of the chosen notebooks."""
    p, chosen, found = made.params, [], []
    if any(name < "10" for name in made.chosen):
        chosen = chosen_lists(made)
        found = editing(p, chosen) + [work for r in p.rankers for work in workload.ranking(p, chosen, r)]
        found += workload.detection(p, chosen) + ladder(p, chosen)
    if any(name >= "11" for name in made.chosen):
        found += search_work(p)
    return chosen, [work for work in found if work.notebook in made.chosen]


def search_work(p) -> list[workload.Work]:
    """Notebooks 11 to 15."""
    from geobench.search import workload as search
    from geobench.search.defences.workload import defence_work

    queries = search.sizes(p)
    return [*search.data_work(p, queries), *search.answer_work(p, queries), *defence_work(p, queries)]


def refuse_endless(made) -> None:
    """GeoBenchError for a plan with work that no device finishes."""
    if lines := endless(made.params, planned(made)[1]):
        raise GeoBenchError(f"this cannot finish: {'; '.join(lines)}")


def _ranking_lines(p, chosen) -> list[str]:
    """The lists, each ranker's rankings, and the generations of edits."""
    targets = sum(len(one.targets) for one in chosen)
    methods = [named(p, entry)[1] for entry in (*p.white_box, *p.black_box, *p.rewrites)]
    calls = sum(METHODS[m] in ("rewrites", "black_box") for m in methods if m != "tap") * targets
    nodes = methods.count("tap") * tap_nodes(p) * targets
    return [
        f"{len(chosen)} lists, {targets} targets, {len(workload.variants(p))} variants",
        *(_ranking_line(p, chosen, ranker, targets) for ranker in p.rankers),
        f"  edits: {calls} generations; TAP at most {nodes} generations and {nodes * p.tap_orders} search rankings",
    ]


def _ranking_line(p, chosen, ranker: str, targets: int) -> str:
    """What sharing the clean rankings saves. Windows are prompts: a ranking of a long list takes several."""
    made, count = workload.rankings(p, chosen, ranker), workload.orders_of(p, ranker)
    apart = 2 * count * len(workload.ranked_methods(p, ranker)) * targets
    saved = f", {1 - made / apart:.0%} fewer than before and after apart" if apart else ""
    windows = ranker.endswith(":generate") and p.generate_window
    prompts = sum(work.calls for work in workload.ranking(p, chosen, ranker)) if windows else made
    return f"  {ranker}: {made} rankings ({count} orders){saved}" + (f"; in windows, {prompts} prompts" if prompts != made else "")


def _search_lines(p) -> list[str]:
    from geobench.search.corpus import CONDITIONS, SOURCES
    from geobench.search.workload import sizes

    most = "at most " if p.search_corpus == "geo_bench" else ""
    asked = f"{most}{len(sizes(p))} queries with {SOURCES} sources under {len(CONDITIONS)} conditions"
    return [f"search track: {asked}; its rows are upper bounds"]


def _notebook(name: str, mine: list) -> list[str]:
    if not mine:
        return []
    spent, unknown = hours(mine)
    took = f"about {spent + START / 3600:,.2f} h" + (f" without {', '.join(unknown)}" if unknown else "")
    lines = [f"{name}: {_sum(mine, 'calls'):,} calls, {_sum(mine, 'tokens_in'):,} tokens in, {_sum(mine, 'tokens_out'):,} out, {took}"]
    for w in mine:
        repeated = f", {w.repeated / w.tokens_in:.0%} repeated" if w.tokens_in else ""
        lines.append(f"  {w.what} on {w.model}: {w.calls:,} calls, {w.tokens_in:,} in{repeated}, {w.tokens_out:,} out")
    return lines


def _sum(found: list, name: str) -> int:
    return sum(getattr(work, name) for work in found)


def _models(found: list, notebooks: int) -> list[str]:
    """Memory, hours and dollars per model; sums at the end."""
    lines, total = [], 0.0
    for model in dict.fromkeys(w.model for w in found):
        row, mine = spec(model), [w for w in found if w.model == model]
        if row.gives.served:
            cost, most = dollars(row, mine)
            total += most or 0.0
            prices = "no prices in models.yaml" if most is None else f"about {cost:.2f}, at most {most:.2f} dollars"
            lines.append(f"{model}: API, {_sum(mine, 'calls'):,} calls, {prices}")
            continue
        size = (row.parameters or 0) * BYTES[row.dtype]
        memory = f"{size:.1f} GB of weights, plan for {size * OVERHEAD:.0f}" if size else "size unknown"
        spent, unknown = hours(mine)
        took = "hours unknown: no `throughput` in models.yaml" if unknown else f"about {spent:,.1f} h ({row.throughput['source']})"
        lines.append(f"{model}: {memory}; {took}")
    spent, unknown = hours(found)
    spent += notebooks * START / 3600
    left_out = f", without {', '.join(unknown)}" if unknown else ""
    return [*lines, f"in all about {spent:,.1f} hours on one device{left_out}, and at most {total:.2f} dollars, if all notebooks run"]


def dollars(row, mine: list) -> tuple[float | None, float | None]:
    """(with replies as long as expected, with replies at their limit); None without prices."""
    prices = settings(row).prices
    if prices is None:
        return None, None
    read = _sum(mine, "tokens_in")
    return prices.dollars(read, _sum(mine, "tokens_out")), prices.dollars(read, _sum(mine, "limit"))


def hours(found: list) -> tuple[float, list[str]]:
    """(hours, models without a throughput): input at the prefill rate, without what is repeated, and output at the decoding rate."""
    spent, unknown = 0.0, []
    for work in found:
        row = spec(work.model)
        if row.throughput:
            rates = row.throughput
            spent += ((work.tokens_in - work.repeated) / rates["input"] + work.tokens_out / rates["output"]) / 3600
        elif not row.gives.served and work.model not in unknown:
            unknown.append(work.model)
    return spent, unknown
