"""Several runs' records, ours and submitted ones, in one ranking per threat model: `python -m geobench leaderboard RUN RUN ...`."""

import json
from collections import Counter
from pathlib import Path

from geobench import paths
from geobench.contrasts import contrast_table
from geobench.errors import GeoBenchError
from geobench.metrics import LEVEL
from geobench.records import UNIT
from geobench.submissions import Entry, read_all
from geobench.tables import put, write_table
from geobench.variants import ORDER, threat_of

RESAMPLES, SEED = 5000, 0
CAPTION = "Leaderboard, {} variants: mean NRG with 95 % t intervals over lists, and the places that paired contrasts leave open."


def merged(entries: list[Entry]):
    """All per-target rows with `run` and `method`, the variant's own name; `variant` is `NAME @RUN` where runs hold others of that name.

    A variant that two runs hold with the same texts and ranks comes once, as the first one's.
    """
    import pandas as pd

    kept: list = []
    for entry in entries:
        for name, part in entry.targets.groupby("variant", sort=True):
            same = [k for k in kept if k["method"].iloc[0] == name]
            if any(_equal(k, part) for k in same):
                continue
            kept.append(part.assign(run=entry.name, method=name))
    frame = pd.concat(kept, ignore_index=True)
    several = frame.groupby("method")["run"].transform("nunique") > 1
    return frame.assign(variant=frame["variant"].where(~several, frame["variant"] + " @" + frame["run"]))


def _equal(one, other) -> bool:
    columns = [*UNIT, "r_before", "r_after", "text_sha"]
    return one[columns].reset_index(drop=True).equals(other[columns].reset_index(drop=True))


def board(frame, judged: dict):
    """One threat model's variants by falling NRG, with intervals and the range of the place."""
    import pandas as pd

    from geobench.outcomes import spread
    from geobench.stats import summarise

    values = ["nrg", f"success@{LEVEL:g}", f"promote@{LEVEL:g}"]
    table = spread(summarise(frame, values, ("variant",), RESAMPLES, SEED), ["variant"])
    table = table.drop(columns=[c for c in table if c.endswith(("_lo", "_hi")) and not c.startswith("nrg_")])
    table = table.sort_values(["nrg", "variant"], ascending=[False, True], kind="stable").reset_index(drop=True)
    table.insert(0, "place", table["nrg"].round(12).rank(ascending=False, method="min").astype(int))  # equal means share a place
    table.insert(1, "places", table["variant"].map(places(frame)))
    known = frame.drop_duplicates("variant").set_index("variant")[["run", "method"]].loc[table["variant"]]
    table.insert(3, "run", known["run"].to_numpy())
    auroc = [judged.get(key, float("nan")) for key in known.itertuples(index=False, name=None)]
    table.insert(table.columns.get_loc("n_targets"), "judge_auroc", pd.Series(auroc, dtype=float))
    return table


def places(frame) -> dict[str, str]:
    """`1 to 3` per variant: the places that its paired contrasts leave open at the 5 % level, adjusted over all pairs.

    At best behind the variants that gain more, at worst before those that gain less (Mogstad, Romano, Shaikh & Wilhelm 2024).
    """
    names = sorted(frame["variant"].unique())
    if len(names) < 2:
        return dict.fromkeys(names, "1")
    pairs = contrast_table(frame, "nrg", RESAMPLES, SEED)
    apart = pairs[pairs["p_adjusted"] < 0.05]
    over = Counter(apart["a"].where(apart["mean"] > 0, apart["b"]))
    under = Counter(apart["b"].where(apart["mean"] > 0, apart["a"]))
    ends = {v: (1 + under.get(v, 0), len(names) - over.get(v, 0)) for v in names}
    return {v: f"{first} to {last}" if first < last else str(first) for v, (first, last) in ends.items()}


def judge_scores(entries: list[Entry]) -> dict[tuple, float]:
    """(run, variant) -> AUROC of the judge, for runs whose judge is that of the first run that has one.

    GeoBenchError, naming run and text, where an edit or its original was not scored.
    """
    from geobench.auroc import auroc_table

    found: dict[tuple, float] = {}
    first = next((e.judge for e in entries if e.judge), None)
    for entry in (e for e in entries if e.judge and e.judge == first and len(e.scores)):
        try:
            frame = auroc_table(entry.scores[[*UNIT, "variant", "score"]])
        except GeoBenchError as error:
            raise GeoBenchError(f"{entry.name}: scores/judge.jsonl: {error}") from None
        found |= {(entry.name, v): m for v, m in zip(frame["variant"], frame["mean"])}
    return found


def leaderboard(runs: list[str], to: str | Path | None = None, ranker: str | None = None) -> Path:
    """Write `<to>/<threat>.csv|.tex|.md`, `leaderboard.csv` and `index.html`; returns the page. to: by default results/leaderboard."""
    import pandas as pd

    entries, target = read_all(runs, ranker), Path(to or paths.RESULTS / "leaderboard")
    frame, judged, boards = merged(entries), judge_scores(entries), {}
    for threat in ORDER:
        part = frame[frame["method"].map(threat_of) == threat]
        if len(part):
            boards[threat] = board(part, judged)
            write_table(boards[threat], target, threat, CAPTION.format(threat))
    every = pd.concat([t.assign(threat=name) for name, t in boards.items()], ignore_index=True)
    put(target / "leaderboard.csv", every.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    put(target / "index.html", _page(boards, entries))
    return target / "index.html"


def _page(boards: dict, entries: list[Entry]) -> str:
    from geobench.pages import cells, render

    shown = []
    for threat, table in boards.items():
        rows = [["" if v != v else f"{v:.6g}" if isinstance(v, float) else str(v) for v in row] for row in table.itertuples(index=False)]
        shown.append((threat, list(table.columns), list(map(cells, rows))))
    protocol = json.dumps(entries[0].protocol, indent=1, sort_keys=True)
    return render("leaderboard", ranker=entries[0].ranker, boards=shown, protocol=protocol, runs=[e.name for e in entries])
