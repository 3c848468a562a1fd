"""Tables of effectiveness: main results, rankers, contrasts, rewrites, models, knowledge of the prompt, data sets, and the first paper's
protocol."""

from geobench.attacks import KNOWLEDGE, knowledge_of
from geobench.auroc_bootstrap import auroc_intervals
from geobench.contrasts import COLUMNS, contrast_table
from geobench.outcomes import outcome_table, outcomes, spread, within
from geobench.stats import cluster_mean, p_value, paired_difference, summarise
from geobench.summary import with_text_measures
from geobench.variants import by_threat, method_of, model_of, threat_of

RESIDUAL = {"judge, matched": "judge", "keyword": "keyword", "keyword or judge": "either"}


def main_table(targets, wide, points, params):
    """Per variant: threat, NRG, S@a, P@a, KVR, perplexity ratio, judge AUROC, flag rate and residual NRG after judge, keyword, either."""
    frame = with_text_measures(targets, wide)
    values = ["nrg", *(c for c in frame if c.startswith(("success@", "promote@"))), *(c for c in ("kvr", "ppl_ratio") if c in frame)]
    long = summarise(frame, values, ("variant",), params.resamples, params.seed, params.weighting, params.inference)
    table = spread(long, ["variant"])
    table = table.drop(columns=[c for c in table if c.endswith(("_lo", "_hi")) and not c.startswith("nrg_")])
    counts = table[["variant", "n_targets", "n_lists", "n_datasets", "note"]]
    table = table.drop(columns=counts.columns[1:]).assign(threat=[threat_of(v) for v in table["variant"]])
    if "judge" in wide:
        table = table.merge(_judge_auroc(wide, params), on="variant", how="left")
    left = outcomes(targets, wide, [p for p in points if p.name in RESIDUAL])
    made = outcome_table(left, params.resamples, params.seed, params.weighting, params.inference)
    for point, part in made.groupby("point"):
        short = RESIDUAL[point]
        kept = part[["variant", "flag", "residual", "residual_lo", "residual_hi"]]
        table = table.merge(kept.rename(columns=lambda c: c if c == "variant" else f"{c}_{short}"), on="variant", how="left")
    table.insert(1, "threat", table.pop("threat"))
    return by_threat(table.merge(counts, on="variant"), "nrg")


def _judge_auroc(wide, params):
    scores = wide.rename(columns={"judge": "score"})
    table = auroc_intervals(scores[["dataset", "list", "target", "variant", "score"]], params.resamples, params.seed, params.inference)
    names = {"auroc": "judge_auroc", "lo": "judge_auroc_lo", "hi": "judge_auroc_hi"}
    return table.rename(columns=names)[["variant", *names.values()]]


def ranker_table(targets, params):
    """(variants x rankers mean NRG, the long summary they come from)."""
    long = summarise(targets, ["nrg"], ("ranker", "variant"), params.resamples, params.seed, params.weighting, params.inference)
    wide = long.pivot(index="variant", columns="ranker", values="mean").reset_index().rename_axis(columns=None)
    return by_threat(wide), long


def contrast_tables(targets, params):
    """(main contrasts under both weights, all pairs under the run's weight): NRG, paired on targets, p adjusted over all; empty for one."""
    import pandas as pd

    if targets["variant"].nunique() < 2:
        return pd.DataFrame(columns=["a", "b", "note"]), pd.DataFrame(columns=COLUMNS)
    chosen = params.inference, params.multiplicity
    settings = {w: contrast_table(targets, "nrg", params.resamples, params.seed, w, *chosen) for w in ("dataset", "target")}
    pairs = main_pairs(targets)
    rows = []
    for a, b in pairs:
        row = {"a": a, "b": b}
        for weighting, table in settings.items():
            found = table[((table.a == a) & (table.b == b)) | ((table.a == b) & (table.b == a))].iloc[0]
            sign = 1 if found.a == a else -1
            low, high = (found.lo, found.hi) if sign == 1 else (0.0 - found.hi, 0.0 - found.lo)  # never -0
            row |= {f"{weighting}_mean": sign * found["mean"] + 0.0, f"{weighting}_lo": low, f"{weighting}_hi": high}
            row |= {f"{weighting}_p": found.p, f"{weighting}_p_adjusted": found.p_adjusted}
        rows.append(row | {"n_targets": found.n_targets, "n_lists": found.n_lists, "note": found.note})
    return pd.DataFrame(rows), settings[params.weighting]


def main_pairs(targets) -> list[tuple[str, str]]:
    """The best variant of each threat model (by equal-dataset NRG) against the best of every later one, and against padding."""
    means = targets.groupby(["variant", "dataset"])["nrg"].mean().groupby("variant").mean()
    best = {threat: max(names, key=lambda v: (means[v], v)) for threat, names in _threats(means.index).items()}
    chosen = list(best.values()) + [v for v in means.index if v == "padding" and v not in best.values()]
    return [(a, b) for n, a in enumerate(chosen) for b in chosen[n + 1 :]]


def _threats(variants) -> dict[str, list[str]]:
    from geobench.variants import ORDER

    groups = {threat: [v for v in variants if threat_of(v) == threat] for threat in ORDER}
    return {threat: names for threat, names in groups.items() if names}


def model_table(targets, params):
    """Methods under several models: NRG with interval, and the paired difference from the method's first model."""
    import pandas as pd

    settings = params.resamples, params.seed, params.weighting, params.inference
    long = summarise(targets, ["nrg"], ("variant",), *settings)
    several = targets["variant"].nunique() > 1
    pairs = contrast_table(targets, "nrg", *settings, "holm") if several else None
    rows, first = [], {}
    for row in long[long["variant"].map(model_of) != ""].itertuples():
        method = row.variant.split("__")[0]  # with its knowledge of the prompt
        base = first.setdefault(method, row.variant)
        new = {"method": method, "model": model_of(row.variant), "nrg": row.mean}
        new |= dict(zip(("nrg_lo", "nrg_hi"), within("nrg", row.lo, row.hi)))
        if base == row.variant:
            new |= {"against": "", "difference": float("nan"), "p": float("nan")}
        else:
            found = pairs[(pairs.a == base) & (pairs.b == row.variant)].iloc[0]
            new |= {"against": model_of(base), "difference": 0.0 - found["mean"], "p": found.p}
        rows.append(new | {"n_targets": row.n_targets, "note": row.note})
    return pd.DataFrame(rows, columns=["method", "model", "nrg", "nrg_lo", "nrg_hi", "against", "difference", "p", "n_targets", "note"])


def knowledge_table(targets, params):
    """White-box methods under several kinds of knowledge of the ranker's prompt (attacks.KNOWLEDGE, weakest first): NRG with interval, and
    the paired gain over the weakest kind that the run has, with interval and p. Empty where no method has two."""
    import pandas as pd

    settings = params.resamples, params.seed, params.weighting, params.inference
    white = [v for v in dict.fromkeys(targets["variant"]) if threat_of(v) == "white-box" or method_of(v) == "random_search"]
    groups: dict[tuple, dict[str, str]] = {}
    for variant in white:
        groups.setdefault((method_of(variant), model_of(variant)), {})[knowledge_of(params, variant)] = variant
    rows = []
    for (method, model), found in groups.items():
        known = [k for k in KNOWLEDGE if k in found] if len(found) > 1 else []
        for k in known:
            part, base = (targets[targets["variant"] == found[which]] for which in (k, known[0]))
            own = cluster_mean(part, "nrg", *settings)
            row = {"method": method, "model": model, "knowledge": k, "nrg": own.mean}
            row |= dict(zip(("nrg_lo", "nrg_hi"), within("nrg", own.lo, own.hi))) | {"against": "" if k == known[0] else known[0]}
            gain = paired_difference(part, base, "nrg", *settings) if k != known[0] else None
            row |= {"gain": gain.mean, "lo": gain.lo, "hi": gain.hi, "p": p_value(gain), "note": gain.note} if gain else {"note": ""}
            rows.append(row | {"n_targets": own.n_targets})
    columns = ["method", "model", "knowledge", "nrg", "nrg_lo", "nrg_hi", "against", "gain", "lo", "hi", "p", "n_targets", "note"]
    return pd.DataFrame(rows, columns=columns)


def search_table(targets, edits):
    """Per variant whose search ranks its texts (TAP): share of targets whose text reached mean rank 1 under the search orders, and of them
    the share whose median rank in the evaluation is 1 too. edits: variant -> records. Empty without such a variant."""
    import pandas as pd

    rows = []
    for variant, records in edits.items():
        found = {(r["dataset"], r["list"], r["target"]): r["search_mean_rank"] for r in records if "search_mean_rank" in r}
        own = targets[targets["variant"] == variant]
        after = dict(zip(own[["dataset", "list", "target"]].itertuples(index=False, name=None), own["r_after"]))
        ranks = [(search, after[key]) for key, search in found.items() if key in after]
        if ranks:
            kept = [rank == 1 for search, rank in ranks if search == 1]
            row = {"variant": variant, "targets": len(ranks), "first in the search": len(kept) / len(ranks)}
            rows.append(row | {"first in the evaluation too": sum(kept) / len(kept) if kept else float("nan")})
    return pd.DataFrame(rows, columns=["variant", "targets", "first in the search", "first in the evaluation too"])


def dataset_table(targets, params):
    """NRG and Success@a per data set and variant, with intervals; a data set of one list has none and says so."""
    values = ["nrg", *(c for c in targets if c.startswith("success@"))]
    long = summarise(targets, values, ("dataset", "variant"), params.resamples, params.seed, inference=params.inference)
    return spread(long, ["dataset", "variant"]).drop(columns="n_datasets")


def first_paper_table(targets, dataset: str | None = None):
    """The first paper's protocol: means of the lists' means and their population standard deviation, per data set and variant."""
    frame = targets if dataset is None else targets[targets["dataset"] == dataset]
    values = [c for c in frame if c.startswith(("success@", "promote@")) or c in ("nrg", "kvr", "ppl_ratio")]
    lists = frame.groupby(["dataset", "variant", "list"])[values].mean().groupby(["dataset", "variant"])
    out = lists.mean().add_suffix("_mean").join(lists.std(ddof=0).add_suffix("_sd"))
    out = out[[f"{v}_{k}" for v in values for k in ("mean", "sd")]]
    return out.assign(n_lists=lists.size()).reset_index()
