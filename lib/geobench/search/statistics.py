"""Tables of the search track: means over queries with 95 % percentile intervals (10,000 resamples of queries) and paired tests.

Every query is its own cluster; all victims and conditions share the draws, so that differences are paired. ASR is the attack's success
under ID; under clean and IP the same score is the rate at which the false claim appears by itself.
"""

import math

import numpy as np

from geobench.errors import GeoBenchError
from geobench.resampling import resample_counts

PERCENTILES = (2.5, 97.5)
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


def bootstrap(values, names, resamples: int = 10_000, seed: int = 0) -> dict:
    """{"mean", "lo", "hi", "n"} over queries; queries whose value is nan are left out and counted in `without`."""
    values = np.asarray(values, dtype=float)
    if len(values) != len(names) or len(set(names)) != len(names):
        raise GeoBenchError(f"bootstrap: expected one value per query, got {len(values)} values for {len(set(names))} queries")
    order = np.argsort(np.asarray(names))
    known = values[order][~np.isnan(values[order])]
    row = {"mean": math.nan, "lo": math.nan, "hi": math.nan, "n": len(known), "without": len(values) - len(known)}
    if len(known):
        row["mean"] = float(known.mean())
    if len(known) > 1:
        means = resample_counts({"search": len(known)}, resamples, seed) @ known / len(known)
        row["lo"], row["hi"] = map(float, np.percentile(means, PERCENTILES))
    return row


def paired(frame, value: str, first: str, second: str, resamples: int = 10_000, seed: int = 0) -> dict:
    """Mean of first - second condition over the queries that have both, its interval, and a two-sided bootstrap p.

    p = 2 min(share of resampled differences <= 0, share >= 0), at least 1/resamples and at most 1.
    """
    wide = frame.pivot(index="name", columns="condition", values=value)
    difference = (wide[first] - wide[second]).dropna().sort_index()
    row = bootstrap(difference.to_numpy(), list(difference.index), resamples, seed)
    p = math.nan
    if len(difference) > 1:
        means = resample_counts({"search": len(difference)}, resamples, seed) @ difference.to_numpy() / len(difference)
        p = float(min(1.0, max(2 * min((means <= 0).mean(), (means >= 0).mean()), 1 / resamples)))
    return {"difference": row["mean"], "lo": row["lo"], "hi": row["hi"], "p": p, "n": row["n"]}


def _rows(frame, value: str, by: list[str], resamples: int, seed: int):
    for group, part in frame.groupby(by, sort=False):
        yield dict(zip(by, group)) | bootstrap(part[value], list(part["name"]), resamples, seed)


def main_table(frame, resamples: int = 10_000, seed: int = 0):
    """Per victim and condition: mean ASR score (under clean and IP: the claim's own rate) and accuracy, with intervals."""
    import pandas as pd

    asr = pd.DataFrame(_rows(frame, "asr", ["victim", "condition"], resamples, seed))
    accuracy = pd.DataFrame(_rows(frame, "accuracy", ["victim", "condition"], resamples, seed))
    asr = asr.rename(columns={"mean": "asr", "lo": "asr_lo", "hi": "asr_hi"})
    accuracy = accuracy.rename(columns={"mean": "accuracy", "lo": "accuracy_lo", "hi": "accuracy_hi"}).drop(columns=["n", "without"])
    return asr.merge(accuracy, on=["victim", "condition"])[
        ["victim", "condition", "asr", "asr_lo", "asr_hi", "accuracy", "accuracy_lo", "accuracy_hi", "n", "without"]
    ]


def paired_table(frame, resamples: int = 10_000, seed: int = 0):
    """Per victim: ASR score of ID against clean and IP, and accuracy of IP against clean, paired over queries."""
    import pandas as pd

    tests = (("asr", "id", "clean"), ("asr", "id", "ip"), ("accuracy", "ip", "clean"))
    rows = []
    for victim, part in frame.groupby("victim", sort=False):
        rows += [{"victim": victim, "score": v, "test": f"{a} - {b}"} | paired(part, v, a, b, resamples, seed) for v, a, b in tests]
    return pd.DataFrame(rows)


def category_table(frame, resamples: int = 10_000, seed: int = 0):
    """ASR under ID per victim and attack category; a query counts for each of its categories."""
    import pandas as pd

    attacked = frame[frame.condition == "id"].explode("categories").rename(columns={"categories": "category"})
    table = pd.DataFrame(_rows(attacked, "asr", ["victim", "category"], resamples, seed))
    return table.sort_values(["victim", "category"], ignore_index=True).rename(columns={"mean": "asr"})


def contested_table(frame, resamples: int = 10_000, seed: int = 0):
    """ASR and accuracy where another source states the truth (contested), where none does (solo), and where nobody looked (unknown)."""
    import pandas as pd

    split = frame.assign(truth=[TRUTH[c] for c in frame["contested"].astype(object)])
    asr = pd.DataFrame(_rows(split, "asr", ["victim", "truth", "condition"], resamples, seed)).rename(columns={"mean": "asr"})
    accuracy = pd.DataFrame(_rows(split, "accuracy", ["victim", "truth", "condition"], 2, seed)).rename(columns={"mean": "accuracy"})
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
