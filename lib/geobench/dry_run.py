"""What a plan would cost, counted without loading a model."""

from geobench import attacks, catalog
from geobench.rankers import parse_name

SECONDS = {"attention": 0.45, "generate": 6.0, "cross_encoder": 0.2, "bi_encoder": 0.03, "bm25": 0.002}  # measured on 2 cores, 7 items
EDIT, NODE, SCORE = 1.8, 5.0, 0.25  # seconds per rewrite or snippet, per TAP node with its search rankings, per scored text
STS_STEP, STS_CANDIDATE = 3.0, 0.9  # seconds per gradient and per candidate


def estimate(made) -> str:
    """Rankings per ranker, edits to make and a rough time for the embedded models on two cores."""
    p = made.params
    search = _search_lines(made)
    if all(n >= "11" for n in made.chosen):
        return "\n".join([f"would run in {made.folder}: {', '.join(made.chosen)}", *search])
    chosen = catalog.select(p.datasets, p.lists_per_dataset, p.targets_per_list, p.seed, p.target_rule)
    targets = sum(len(s.targets) for s in chosen)
    methods = [*p.white_box, *p.black_box, *p.rewrites, *p.controls]
    lines = [
        f"would run in {made.folder}: {', '.join(made.chosen)}",
        f"{len(chosen)} lists, {targets} targets, {len(methods) + len(p.external_edits)} variants",
    ]
    total = 0.0
    for ranker in p.rankers:
        read_out = parse_name(ranker)[1]
        variants = len(methods) + len(p.external_edits)
        if read_out == "generate" and p.generate_variants is not None:
            variants = len(p.generate_variants)
        orders = (p.generate_orders or p.orders) if read_out == "generate" else p.orders
        orders = 1 if read_out in ("cross_encoder", "bi_encoder", "bm25") else orders
        rankings = orders * (len(chosen) + variants * targets)
        seconds = rankings * SECONDS[read_out]
        total += seconds
        lines.append(f"  {ranker}: {rankings} rankings ({orders} orders), about {seconds:.0f} s")
    calls = sum({"rewrites": 1, "black_box": 1}.get(attacks.METHODS[m], 0) for m in methods if m != "tap") * targets
    kept = [min(p.tap_width, p.tap_roots * p.tap_branching**depth) for depth in range(p.tap_depth - 1)]
    nodes = p.tap_roots + sum(kept) * p.tap_branching if "tap" in p.black_box else 0
    searched = f"TAP at most {nodes * targets} generations and {nodes * targets * p.tap_orders} search rankings"
    lines.append(f"  edits: {calls} generations; {searched}")
    steps = p.sts_steps * targets if "sts" in p.white_box else 0
    total += calls * EDIT + nodes * targets * NODE + steps * (STS_STEP + p.sts_candidates * STS_CANDIDATE)
    total += 2 * SCORE * targets * (1 + len(methods) + len(p.external_edits))
    lines.append(f"  STS: {steps} steps of {p.sts_candidates} candidates; judge and perplexity: {2 * targets * (1 + len(methods))} texts")
    lines.append(f"about {total / 60:.0f} minutes with the embedded models on two cores, if all notebooks run")
    lines += search
    return "\n".join(lines)


def _search_lines(made) -> list[str]:
    """The search track's part, where its notebooks are chosen."""
    if not any(n >= "11" for n in made.chosen):
        return []
    from pathlib import Path

    from geobench.search.corpus import load_instances
    from geobench.search.defences.cost import estimate as search_estimate

    p = made.params
    own = None if p.search_corpus == "embedded" else Path(p.search_corpus) / "instances.jsonl"
    return search_estimate(p, p.search_instances or len(load_instances(own)))
