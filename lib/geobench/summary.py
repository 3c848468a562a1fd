"""From a run's records to the frames that every table starts from."""

from geobench.errors import GeoBenchError
from geobench.metrics import per_target
from geobench.operating_points import wide_scores
from geobench.ranking import read_ranks
from geobench.scoring import DETECTORS, read_scores


def per_target_table(work):
    """One row per ranker, variant and target (metrics.per_target)."""
    import pandas as pd

    frames = [per_target(*read_ranks(work, ranker), ranker, tuple(work.params.levels)) for ranker in work.params.rankers]
    return pd.concat(frames, ignore_index=True)


def score_table(work):
    """One row per text, a column per detector that has scores (operating_points.wide_scores).

    GeoBenchError without scores of the keyword filter, perplexity or the judge; a run of one list has no trained detector.
    """
    for detector in DETECTORS[:3]:
        if not (work.folder / "scores" / f"{detector}.jsonl").exists():
            raise GeoBenchError(f"no scores of `{detector}` in {work.folder}/scores: run notebook 06_detection first")
    have = [d for d in DETECTORS if (work.folder / "scores" / f"{d}.jsonl").exists()]
    return wide_scores({detector: read_scores(work, detector) for detector in have})


def with_text_measures(targets, wide):
    """Per-target rows with kvr (0 or 1) and ppl_ratio (edited over original perplexity) of their texts, where scored."""
    keys = ["dataset", "list", "target"]
    originals = wide[wide["variant"] == "original"].set_index(keys)
    edits = wide[wide["variant"] != "original"]
    measures = edits[[*keys, "variant"]].copy()
    if "keyword" in wide:
        measures["kvr"] = (edits["keyword"] >= 1).astype(float)
    if "perplexity" in wide:
        before = originals["perplexity"].reindex(edits.set_index(keys).index).to_numpy()
        measures["ppl_ratio"] = edits["perplexity"].to_numpy() / before
    return targets.merge(measures, on=[*keys, "variant"], how="left")
