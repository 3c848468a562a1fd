"""Tables of the search track: means over queries with 95 % intervals, and paired tests.

Every query is its own cluster and there is one data set, so inference `t` is the one-sample t interval and test over queries; `published`
resamples queries (10,000 times, percentile intervals), with the same draws for all victims and conditions. ASR is the attack's success
under ID; under clean and IP the same score is the rate at which the false claim appears by itself.
"""

import math

import numpy as np

from geobench.errors import GeoBenchError
from geobench.resampling import resample_counts
from geobench.stats import PERCENTILES, require_inference
from geobench.welch import interval

TRUTH = {True: "contested", False: "solo", None: "unknown"}


def answer_frame(rows: list[dict], instances):
    """pandas frame of answers: victim, name, condition, stance, asr, accuracy, contested, categories; unparsed ones have nan scores."""
    import pandas as pd

    facts = {i.name: i for i in instances}
    keep = ("victim", "name", "condition", "stance", "asr", "accuracy")
    frame = pd.DataFrame([{k: r[k] for k in keep} for r in rows])
    frame["contested"] = [facts[n].contested for n in frame["name"]]
    frame["categories"] = [tuple(facts[n].categories) for n in frame["name"]]
    return frame.astype({"asr": float, "accuracy": float})


def query_mean(values, names, resamples: int = 10_000, seed: int = 0, inference: str = "t") -> dict:
    """{"mean", "lo", "hi", "n"} over queries; queries whose value is nan are left out and counted in `without`."""
    require_inference(inference)
    values = np.asarray(values, dtype=float)
    if len(values) != len(names) or len(set(names)) != len(names):
        raise GeoBenchError(f"mean over queries: expected one value per query, got {len(values)} values for {len(set(names))} queries")
    order = np.argsort(np.asarray(names))
    known = values[order][~np.isnan(values[order])]
    row = {"mean": math.nan, "lo": math.nan, "hi": math.nan, "n": len(known), "without": len(values) - len(known)}
    if len(known):
        row["mean"] = float(known.mean())
    if len(known) > 1:
        row["lo"], row["hi"], _ = _inferred(known, resamples, seed, inference)
    return row


def query_difference(difference, resamples: int = 10_000, seed: int = 0, inference: str = "t") -> dict:
    """{"lo", "hi", "p", "note"} of a mean difference; difference: one value per query, in order of their names.

    `t`: one-sample t test; no test where all queries say the same but 0. `published`: p = 2 min(share of resampled differences <= 0,
    share >= 0), at least 1/resamples and at most 1.
    """
    require_inference(inference)
    difference = np.asarray(difference, float)
    if len(difference) < 2:
        return {"lo": math.nan, "hi": math.nan, "p": math.nan, "note": "no interval: fewer than two queries"}
    low, high, p = _inferred(difference, resamples, seed, inference)
    return {"lo": low, "hi": high, "p": p, "note": "no test: the same difference in every query" if math.isnan(p) else ""}


def _inferred(values: np.ndarray, resamples: int, seed: int, inference: str) -> tuple[float, float, float]:
    """(lo, hi, p) of the mean of two values or more; every query is a list of its own, all of one data set."""
    sizes = {"search": len(values)}
    if inference == "t":
        return interval(values.mean(), (values - values.mean()) / len(values), sizes)
    means = resample_counts(sizes, resamples, seed) @ values / len(values)
    p = float(min(1.0, max(2 * min((means <= 0).mean(), (means >= 0).mean()), 1 / resamples)))
    return *map(float, np.percentile(means, PERCENTILES)), p


def paired(frame, value: str, first: str, second: str, resamples: int = 10_000, seed: int = 0, inference: str = "t") -> dict:
    """Mean of first - second condition over the queries that have both, with `query_difference`."""
    wide = frame.pivot(index="name", columns="condition", values=value)
    difference = (wide[first] - wide[second]).dropna().sort_index()
    found = query_difference(difference, resamples, seed, inference)
    note = found.pop("note")
    return {"difference": difference.mean()} | found | {"n": len(difference), "note": note}


def _rows(frame, value: str, by: list[str], resamples: int, seed: int, inference: str):
    """Means of rates, their intervals cut to 0 and 1."""
    for group, part in frame.groupby(by, sort=False):
        found = query_mean(part[value], list(part["name"]), resamples, seed, inference)
        yield dict(zip(by, group)) | found | {end: float(np.clip(found[end], 0, 1)) for end in ("lo", "hi")}


def main_table(frame, resamples: int = 10_000, seed: int = 0, inference: str = "t"):
    """Per victim and condition: mean ASR score (under clean and IP: the claim's own rate) and accuracy, with intervals."""
    import pandas as pd

    asr = pd.DataFrame(_rows(frame, "asr", ["victim", "condition"], resamples, seed, inference))
    accuracy = pd.DataFrame(_rows(frame, "accuracy", ["victim", "condition"], resamples, seed, inference))
    asr = asr.rename(columns={"mean": "asr", "lo": "asr_lo", "hi": "asr_hi"})
    accuracy = accuracy.rename(columns={"mean": "accuracy", "lo": "accuracy_lo", "hi": "accuracy_hi"}).drop(columns=["n", "without"])
    return asr.merge(accuracy, on=["victim", "condition"])[
        ["victim", "condition", "asr", "asr_lo", "asr_hi", "accuracy", "accuracy_lo", "accuracy_hi", "n", "without"]
    ]


def paired_table(frame, resamples: int = 10_000, seed: int = 0, inference: str = "t"):
    """Per victim: ASR score of ID against clean and IP, and accuracy of IP against clean, paired over queries."""
    import pandas as pd

    tests = (("asr", "id", "clean"), ("asr", "id", "ip"), ("accuracy", "ip", "clean"))
    rows = []
    for victim, part in frame.groupby("victim", sort=False):
        for v, a, b in tests:
            found = paired(part, v, a, b, resamples, seed, inference)
            rows.append({"victim": victim, "score": v, "test": f"{a} - {b}"} | found)
    return pd.DataFrame(rows)


def category_table(frame, resamples: int = 10_000, seed: int = 0, inference: str = "t"):
    """ASR under ID per victim and attack category; a query counts for each of its categories."""
    import pandas as pd

    attacked = frame[frame.condition == "id"].explode("categories").rename(columns={"categories": "category"})
    table = pd.DataFrame(_rows(attacked, "asr", ["victim", "category"], resamples, seed, inference))
    return table.sort_values(["victim", "category"], ignore_index=True).rename(columns={"mean": "asr"})


def contested_table(frame, resamples: int = 10_000, seed: int = 0, inference: str = "t"):
    """ASR and accuracy where another source states the truth (contested), where none does (solo), and where nobody looked (unknown)."""
    import pandas as pd

    split = frame.assign(truth=[TRUTH[c] for c in frame["contested"].astype(object)])
    asr = pd.DataFrame(_rows(split, "asr", ["victim", "truth", "condition"], resamples, seed, inference)).rename(columns={"mean": "asr"})
    accuracy = pd.DataFrame(_rows(split, "accuracy", ["victim", "truth", "condition"], 2, seed, inference))
    accuracy = accuracy.rename(columns={"mean": "accuracy"})
    return asr.merge(accuracy[["victim", "truth", "condition", "accuracy"]], on=["victim", "truth", "condition"]).drop(columns="without")


def level_table(frame):
    """How many answers take each stance, per victim and condition."""
    from geobench.search.verdicts import STANCES

    counts = frame.groupby(["victim", "condition"], sort=False)["stance"].value_counts().unstack(fill_value=0)
    return counts.reindex(columns=list(STANCES), fill_value=0).reset_index()


def disagreement_table(frame):
    """Over queries, under each condition: the share on which all victims have full success, none has any, and victims differ."""
    import pandas as pd

    rows = []
    for condition, part in frame.groupby("condition", sort=False):
        wide = part.pivot(index="name", columns="victim", values="asr").dropna()
        rows.append({
            "condition": condition, "queries": len(wide), "victims": wide.shape[1], "all_succeed": (wide == 1).all(axis=1).mean(),
            "none_succeeds": (wide == 0).all(axis=1).mean(), "disagree": (wide.nunique(axis=1) > 1).mean(),
        })  # fmt: skip
    return pd.DataFrame(rows)
