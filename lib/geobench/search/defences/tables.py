"""Tables of the defences: what each does to the attack, to accuracy, and to harmless chunks."""

import numpy as np

from geobench.search.corpus import CONDITIONS
from geobench.search.statistics import query_difference

NONE = "none"
MEAN = "mean of victims"
GUARD = "guard:"  # how the names of the trained guard's configurations begin


def defence_frame(plain: list[dict], defended: list[dict], instances):
    """pandas frame of answers: defence (`none` first), victim, name, condition, stance, asr, accuracy, changed, empty, categories."""
    import pandas as pd

    facts = {i.name: i for i in instances}
    keep = ("defence", "victim", "name", "condition", "stance", "asr", "accuracy", "changed", "empty")
    victims = list(dict.fromkeys(r["victim"] for r in defended))
    rows = [r | {"defence": NONE, "changed": False, "empty": False} for r in plain if r["victim"] in victims]
    frame = pd.DataFrame([{k: r.get(k) for k in keep} for r in [*rows, *defended]])
    frame["categories"] = [tuple(facts[n].categories) for n in frame["name"]]
    return frame.astype({"asr": float, "accuracy": float})


def _wide(frame, victim: str, defence: str, condition: str, value: str):
    """Per query (value without, value with) where both are known; for MEAN the means over victims of what all victims have."""
    part = frame[(frame.condition == condition) & frame.defence.isin([NONE, defence])]
    if victim != MEAN:
        return part[part.victim == victim].pivot(index="name", columns="defence", values=value).dropna().sort_index()
    part = part[part.victim.isin(part.loc[part.defence == defence, "victim"])]
    every = part.pivot(index="name", columns=["defence", "victim"], values=value).dropna().sort_index()
    return every.T.groupby(level="defence").mean().T


def _victims(frame, defence: str) -> list[str]:
    """The victims of a configuration, and MEAN where they are several."""
    found = list(dict.fromkeys(frame.loc[frame.defence == defence, "victim"]))
    return found + [MEAN] * (len(found) > 1)


def paired_change(frame, victim, defence, condition, value, resamples: int = 10_000, seed: int = 0, inference: str = "t") -> dict:
    """{"without", "with", "change", "lo", "hi", "p", "n", "note"} over queries, as `statistics.query_difference`."""
    wide = _wide(frame, victim, defence, condition, value)
    delta = wide[defence] - wide[NONE]
    found = query_difference(delta, resamples, seed, inference)
    note = found.pop("note")
    means = {"without": wide[NONE].mean(), "with": wide[defence].mean(), "change": float(delta.mean())}
    return means | found | {"n": len(delta), "note": note}


def effect_table(frame, resamples: int = 10_000, seed: int = 0, inference: str = "t"):
    """ASR under ID with and without each configuration, per victim and as the mean of the victims: change, interval, p, relative change,
    empty contexts."""
    import pandas as pd

    rows = []
    for defence in [d for d in dict.fromkeys(frame["defence"]) if d != NONE]:
        for victim in _victims(frame, defence):
            row = paired_change(frame, victim, defence, "id", "asr", resamples, seed, inference)
            relative = row["change"] / row["without"] if row["without"] else np.nan
            own = frame[(frame.defence == defence) & (frame.condition == "id") & ((victim == MEAN) | (frame.victim == victim))]
            last = {"relative": relative, "empty": float(own["empty"].astype(float).mean()), "note": row.pop("note")}
            rows.append({"defence": defence, "victim": victim} | row | last)
    return pd.DataFrame(rows)


def accuracy_table(frame, resamples: int = 10_000, seed: int = 0, inference: str = "t"):
    """Accuracy under clean and IP with and without each configuration, per victim and as the mean of the victims; a refusal counts as 0."""
    import pandas as pd

    rows = []
    for defence in [d for d in dict.fromkeys(frame["defence"]) if d != NONE]:
        for victim in _victims(frame, defence):
            for condition in ("clean", "ip"):
                row = paired_change(frame, victim, defence, condition, "accuracy", resamples, seed, inference)
                rows.append({"defence": defence, "victim": victim, "condition": condition} | row)
    return pd.DataFrame(rows)


def chunk_block_table(candidates: list[dict], decisions: dict[str, dict], top: int, unparsed: str = "keep"):
    """Per defence and condition: blocked share of all chunks that would be shown, of the target's, and the share of unparsed replies.

    decisions: defence -> (name, condition) -> decisions on the first candidates.
    """
    import pandas as pd

    rows = []
    for defence, made in decisions.items():
        for condition in CONDITIONS:
            used = [(c, made[(c["name"], condition)]) for c in candidates if c["condition"] == condition and (c["name"], condition) in made]
            flags = [
                (h.chunk.document == c["target"], d.blocked(unparsed), d.parsed) for c, ds in used for h, d in zip(c["hits"][:top], ds)
            ]
            target = [b for t, b, _ in flags if t]
            rows.append({
                "defence": defence, "condition": condition, "chunks": len(flags), "all": _share([b for _, b, _ in flags]),
                "target_chunks": len(target), "target": _share(target), "unparsed": _share([not p for *_, p in flags]),
            })  # fmt: skip
    return pd.DataFrame(rows, columns=["defence", "condition", "chunks", "all", "target_chunks", "target", "unparsed"])


def _share(flags: list[bool]) -> float:
    return float(np.mean(flags)) if flags else np.nan


def category_table(frame):
    """Mean ASR under ID by attack category, with and without each configuration; a query counts for each of its categories."""
    part = frame[frame.condition == "id"].explode("categories").rename(columns={"categories": "category"})
    table = part.pivot_table(index="category", columns="defence", values="asr", aggfunc="mean", sort=False)
    counts = part.groupby("category")["name"].nunique()
    return table.assign(queries=counts).sort_index().reset_index().rename_axis(columns=None)


def residual_table(frame, instances):
    """Queries whose false claim fully succeeds (ASR 1) for all victims under every configuration but the trained guard's, and without any;
    `caught`: whether a guard's configuration stops it for some victim."""
    import pandas as pd

    attacked = frame[frame.condition == "id"]
    least = attacked.groupby(["name", "defence"])["asr"].min().unstack()
    guards = [defence for defence in least if defence.startswith(GUARD)]
    left = least[(least.drop(columns=guards) == 1).all(axis=1)]
    facts = {i.name: i for i in instances}
    rows = [
        {"name": n, "contested": facts[n].contested, "categories": ", ".join(facts[n].categories), "claim": facts[n].false_claim,
         "caught": bool((row[guards] < 1).any())}
        for n, row in left.iterrows()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["name", "contested", "categories", "claim", "caught"])


def agreement_by_defence(frame):
    """Over queries under ID, per configuration: all victims fully succeed, none succeeds at all, victims differ."""
    import pandas as pd

    rows = []
    for defence, part in frame[frame.condition == "id"].groupby("defence", sort=False):
        wide = part.pivot(index="name", columns="victim", values="asr").dropna()
        if wide.shape[1] > 1 and len(wide):
            rows.append({"defence": defence, "queries": len(wide), "victims": wide.shape[1], "all_succeed": (wide == 1).all(axis=1).mean(),
                         "none_succeeds": (wide == 0).all(axis=1).mean(), "disagree": (wide.nunique(axis=1) > 1).mean()})  # fmt: skip
    return pd.DataFrame(rows, columns=["defence", "queries", "victims", "all_succeed", "none_succeeds", "disagree"])


def gate_table(frame, quality: list[dict], levels: list[float]):
    """Relative change of ASR under ID over the queries whose IP and ID texts both reach each gate threshold, mean of the victims."""
    import pandas as pd

    least = pd.DataFrame(quality).groupby("name")["quality"].min()
    rows = []
    for level in levels:
        part = frame[frame["name"].isin(least[least >= level].index) & (frame.condition == "id")]
        means = part.groupby("defence", sort=False)["asr"].mean()
        for defence in [d for d in means.index if d != NONE]:
            relative = (means[defence] - means[NONE]) / means[NONE] if means.get(NONE) else np.nan
            rows.append({"threshold": level, "queries": part["name"].nunique(), "defence": defence, "without": means[NONE],
                         "with": means[defence], "relative": relative})  # fmt: skip
    return pd.DataFrame(rows, columns=["threshold", "queries", "defence", "without", "with", "relative"])


def quality_verdict_table(grades: list[dict], answers: list[dict]):
    """Mean graded quality by the key judge's verdict on the same answers; unparsed grades are counted, not averaged."""
    import pandas as pd

    stances = {(a["victim"], a["name"], a["condition"]): a["stance"] for a in answers}
    scales = ["relevance", "completeness", "clarity"]
    rows = [{"verdict": stances[(g["victim"], g["name"], g["condition"])], **{s: g.get(s) for s in scales}} for g in grades]
    frame = pd.DataFrame(rows, columns=["verdict", *scales]).astype(dict.fromkeys(scales, float))
    frame["quality"], frame["graded"] = frame[scales].mean(axis=1), frame[scales].notna().all(axis=1)
    table = frame.groupby("verdict", sort=True).agg(answers=("graded", "size"), graded=("graded", "sum"), quality=("quality", "mean"))
    return table.reset_index()


def context_scores(candidates: list[dict], decisions: dict, detector: str):
    """Document scores of a defence that needs the whole context: the target's highest chunk; queries without a target chunk score 0.

    Rows as of separation.document_scores: detector, name, state, score.
    """
    import pandas as pd

    rows = []
    for c in candidates:
        pairs = zip(c["hits"], decisions[c["name"], c["condition"]])
        score = max((d.score for h, d in pairs if h.chunk.document == c["target"]), default=0.0)
        rows.append({"detector": detector, "name": c["name"], "state": c["condition"], "score": score})
    return pd.DataFrame(rows)
