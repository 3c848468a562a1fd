"""Tables of white-box optimisation: what was tried at each step, what it cost, and how the suffix changed."""

from collections.abc import Iterable

from geobench import stats
from geobench.variants import method_of

UNIT = ["variant", "dataset", "list", "target", "restart", "row"]


def trace_table(edits: Iterable[dict]):
    """pandas frame, one row per step and suffix of edits that keep a trace: its unit, step, loss under that step's
    order; and where it was tested (else nan) the change since step 0 of the objective's mean over search orders, and mean_rank on
    held-out ones."""
    import pandas as pd

    rows = []
    for edit in edits:
        head = {name: edit[name] for name in UNIT[:4]}
        rows += [head | {"restart": 0, "row": 0, "mean_rank": None} | step for step in edit.get("trace") or () if "step" in step]
    frame = pd.DataFrame(rows, columns=[*UNIT, "step", "loss", "objective", "mean_rank", "suffix"])
    frame = frame.astype({"loss": float, "objective": float, "mean_rank": float})
    start = frame.sort_values("step", kind="stable").groupby(UNIT)["objective"].transform("first")
    return frame.assign(change=frame["objective"] - start)


def curve_table(trace, value: str):
    """Per variant and step: mean of `value` over targets (rows and restarts averaged first), its 10th and 90th percentile over
    targets, and the number of targets."""
    per_target = trace.dropna(subset=[value]).groupby(["variant", "step", *UNIT[1:4]], sort=True)[value].mean()
    grouped = per_target.groupby(["variant", "step"])
    return grouped.agg(mean="mean", low=lambda v: v.quantile(0.1), high=lambda v: v.quantile(0.9), targets="size").reset_index()


def compute_table(edits: Iterable[dict]):
    """Per variant: steps, forward and backward tokens per target, and the mean change of its objective from first to last step."""
    import pandas as pd

    edits = [edit for edit in edits if edit.get("tokens")]
    trace = trace_table(edits)
    last = trace[trace["step"] == trace.groupby(UNIT)["step"].transform("max")]
    rows = []
    for variant in sorted({edit["variant"] for edit in edits}):
        mine = [edit for edit in edits if edit["variant"] == variant]
        tokens = {f"{kind}_tokens": sum(e["tokens"][kind] for e in mine) / len(mine) for kind in ("forward", "backward")}
        change = last[last["variant"] == variant]["change"]
        rows.append({"variant": variant, "targets": len(mine), "steps": int(last[last["variant"] == variant]["step"].max())} | tokens | {
            "loss_change": change.mean(), "share_lowered": (change < 0).mean(),
        })  # fmt: skip
    columns = ["variant", "targets", "steps", "forward_tokens", "backward_tokens", "loss_change", "share_lowered"]
    return pd.DataFrame(rows, columns=columns)


def control_table(edits: Iterable[dict], resamples: int = 5000, seed: int = 0, inference: str = "t"):
    """Each white-box variant against random token search on the same targets and model: mean difference of the objective of the suffixes
    that became the edits (below zero: the attack reached a lower one), with its interval over lists, the share of targets where it did,
    the difference of their mean rank on held-out search orders, and how many forward tokens it ran per one of the search's."""
    import pandas as pd

    edits = [edit for edit in edits if edit.get("tokens")]
    finals, rows = _finals(edits), []
    for name, other in ((n, finals[c]) for n in finals if (c := n.replace(method_of(n), "random_search", 1)) in finals):
        mine = finals[name].merge(other, on=UNIT[1:4], suffixes=("", "_random"))
        if name.startswith("random_search") or mine.empty:
            continue
        gaps = mine.assign(**{value: mine[value] - mine[f"{value}_random"] for value in ("objective", "mean_rank")})
        named = (gaps.rename(columns={v: "gap"}) for v in ("objective", "mean_rank"))
        final, rank = (stats.cluster_mean(table, "gap", resamples, seed, inference=inference) for table in named)
        rows.append({
            "variant": name, "targets": len(gaps), "difference": final.mean, "lo": final.lo, "hi": final.hi,
            "share_better": (gaps["objective"] < 0).mean(), "rank_difference": rank.mean, "rank_lo": rank.lo, "rank_hi": rank.hi,
            "forward_ratio": mine["forward"].sum() / mine["forward_random"].sum(),
        })  # fmt: skip
    columns = ["variant", "targets", "difference", "lo", "hi", "share_better", "rank_difference", "rank_lo", "rank_hi", "forward_ratio"]
    return pd.DataFrame(rows, columns=columns)


def _finals(edits) -> dict:
    """variant -> frame of its targets: objective and held-out rank of the suffix that became the edit, forward tokens.

    Methods start from unlike suffixes and try unlike numbers of rows, so neither a change since the start nor the least objective of all
    rows compares them: the suffix that held-out orders chose does.
    """
    import pandas as pd

    found: dict[str, list[dict]] = {}
    for edit in edits:
        tested = [row for row in edit["trace"] if row["suffix"] == edit["suffix"] and "mean_rank" in row]
        chosen = min(tested, key=lambda row: row["mean_rank"])
        row = {name: edit[name] for name in UNIT[:4]} | {name: chosen[name] for name in ("objective", "mean_rank")}
        found.setdefault(edit["variant"], []).append(row | {"forward": edit["tokens"]["forward"]})
    return {variant: pd.DataFrame(rows) for variant, rows in sorted(found.items())}


def failure_table(edits: Iterable[dict]):
    """Edits whose suffix did no better on held-out search orders than the start: variant, unit, rank before and of the choice."""
    import pandas as pd

    rows = []
    for edit in edits:
        tested = [step for step in edit.get("trace") or () if "ranks" in step]
        if tested:
            best = min(step["mean_rank"] for step in tested)
            if best >= tested[0]["mean_rank"]:
                rows.append({name: edit[name] for name in UNIT[:4]} | {"start_rank": tested[0]["mean_rank"], "best_rank": best})
    return pd.DataFrame(rows, columns=[*UNIT[:4], "start_rank", "best_rank"])
