"""The ranking track's result tables, from a run's records."""

from geobench.attacks import METHODS, THREAT
from geobench.detectors.keywords import flag, load_lexicon
from geobench.metrics import auroc_table, per_target
from geobench.ranking import read_ranks
from geobench.scoring import read_scores
from geobench.stats import rank_correlation_table, summarise


def per_target_table(work):
    """One row per ranker, variant and target (metrics.per_target)."""
    import pandas as pd

    frames = [per_target(*read_ranks(work, ranker), ranker, tuple(work.params.levels)) for ranker in work.params.rankers]
    return pd.concat(frames, ignore_index=True)


def _summary(work, frame, values, by):
    return summarise(frame, values, by=by, resamples=work.params.resamples, seed=work.params.seed)


def main_table(work, targets):
    """Per variant under the main ranker: NRG, Success@a, Promote@a with intervals, KVR, perplexity ratio, judge AUROC."""
    import pandas as pd

    frame = targets[targets.ranker == work.params.main_ranker]
    values = ["nrg", *(c for c in frame.columns if c.startswith(("success@", "promote@")))]
    long = _summary(work, frame, values, ("variant",))
    first = values[0]
    rows = []
    for variant, part in long.groupby("variant", sort=True):
        part = part.set_index("value")
        row = {"variant": variant, "threat": THREAT.get(METHODS.get(variant.split("__")[0]), "external")}
        row |= {"nrg": part.loc[first, "mean"], "nrg_lo": part.loc[first, "lo"], "nrg_hi": part.loc[first, "hi"]}
        row |= {v: part.loc[v, "mean"] for v in values[1:]}
        row |= {"n_targets": part.loc[first, "n_targets"], "n_lists": part.loc[first, "n_lists"], "note": part.loc[first, "note"]}
        rows.append(row)
    return pd.DataFrame(rows).merge(_detection(work), on="variant", how="left")


def _detection(work):
    """Per variant: KVR, mean perplexity ratio and judge AUROC (equal-dataset means)."""
    import pandas as pd

    lexicon, mode = load_lexicon(), work.params.keyword_mode
    judge = auroc_table(read_scores(work, "judge"))
    judge = judge.set_index("variant")["mean"]
    ppl = read_scores(work, "perplexity").set_index(["dataset", "list", "target"])
    original = ppl[ppl.variant == "original"]["score"]
    rows = []
    for variant, edits in work.edits().items():
        flags = pd.DataFrame([{"dataset": r["dataset"], "flag": flag(r["text"], lexicon, mode)} for r in edits])
        ratio = (ppl[ppl.variant == variant]["score"] / original).dropna()
        rows.append({
            "variant": variant, "kvr": flags.groupby("dataset")["flag"].mean().mean(),
            "ppl_ratio": ratio.groupby("dataset").mean().mean(), "judge_auroc": judge.get(variant),
        })  # fmt: skip
    return pd.DataFrame(rows)


def dataset_table(work, targets):
    """NRG per data set and variant under the main ranker."""
    frame = targets[targets.ranker == work.params.main_ranker]
    long = _summary(work, frame, ["nrg"], ("dataset", "variant"))
    return long[["dataset", "variant", "mean", "lo", "hi", "n_targets", "n_lists", "note"]]


def ranker_tables(work, targets):
    """(mean NRG per variant and ranker, Spearman correlations between rankers)."""
    long = _summary(work, targets, ["nrg"], ("ranker", "variant"))
    wide = long.pivot(index="variant", columns="ranker", values="mean").reset_index()
    return wide, rank_correlation_table(long, "nrg").reset_index(names="ranker")
