"""Several runs' records, ours and submitted ones, in one ranking per threat model: `python -m geobench leaderboard RUN RUN ...`.

A run is a results folder with catalog.jsonl, params.yaml, edits/ and ranks/ (scores/ if there are any). All must have been ranked under
one protocol: the same lists, ranker (model, revision, prompt), orders and seed, as their records' fingerprints say.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geobench import paths
from geobench.catalog import catalog_sha
from geobench.errors import GeoBenchError, nearest
from geobench.metrics import per_target
from geobench.params import load
from geobench.rankers import folder_name
from geobench.ranking import read_ranks
from geobench.records import differences, read_fingerprint
from geobench.reproduce import read_params
from geobench.run import Run
from geobench.tables import put, write_table
from geobench.variants import ORDER, threat_of

KEY = ["dataset", "list", "target"]
LEVEL = 0.1
RESAMPLES, SEED = 5000, 0
CAPTION = "Leaderboard, {} variants: mean NRG with 95 % list-cluster intervals, and the range of the place over resamples."


@dataclass(frozen=True)
class Entry:
    """One run: where it is, its main ranker, its protocol, its per-target rows, its judge's identity and the scores of its texts."""

    name: str
    ranker: str
    protocol: dict
    targets: Any  # pandas frame
    judge: dict | None
    scores: Any  # pandas frame, or None


def find(run: str) -> Path:
    """A run's folder: a path, or a name under results/."""
    for folder in (Path(run), paths.RESULTS / run):
        if (folder / "catalog.jsonl").exists():
            return folder
        if (folder / "released_per_target.csv").exists():
            raise GeoBenchError(
                f"`{run}` holds released records: ranks without the lists, orders and prompts that made them, so no protocol that another "
                f"run could share; they stand in {folder}/tables/released_intervals.csv and released_contrasts.csv"
            )
    known = sorted(f.parent.name for f in paths.RESULTS.glob("*/catalog.jsonl"))
    raise GeoBenchError(f"no run `{run}` (a folder with catalog.jsonl).{nearest(run, known) if known else ''}")


def read_entry(folder: Path, ranker: str | None = None) -> Entry:
    """Read one run; GeoBenchError where its files do not belong together."""
    from geobench.scoring import read_scores

    ranker = ranker or read_params(folder).get("main_ranker")
    if not ranker:
        raise GeoBenchError(f"{folder}: no params.yaml that names its main_ranker; give one with --ranker")
    work, place = Run(folder, load()), folder / "ranks" / folder_name(ranker)
    protocol = _protocol(place / "clean.jsonl")
    if (own := catalog_sha(work.selected)) != protocol.get("catalog"):
        raise GeoBenchError(f"{folder}/catalog.jsonl: its lists ({own[:12]}) are not those ranked ({str(protocol.get('catalog'))[:12]})")
    for file in sorted(place.glob("*.jsonl")):
        if lines := differences(protocol, _protocol(file)):
            raise GeoBenchError(f"{file}: ranked under another protocol than its clean lists ({'; '.join(lines)})")
    judged = folder / "scores" / "judge.jsonl"
    judge = read_fingerprint(judged) if judged.exists() else None
    rows = per_target(*read_ranks(work, ranker), ranker, (LEVEL,))
    if rows.empty:
        raise GeoBenchError(f"{folder}: no variant was ranked by {ranker}")
    return Entry(folder.name, ranker, protocol, rows, judge, read_scores(work, "judge") if judge else None)


def _protocol(file: Path) -> dict:
    return {k: v for k, v in read_fingerprint(file).items() if k not in ("kind", "variant")}


def require_one_protocol(entries: list[Entry]) -> None:
    """Refuse runs that were not ranked alike, saying how."""
    first = entries[0]
    for other in entries[1:]:
        if lines := differences(first.protocol, other.protocol):
            raise GeoBenchError(f"`{first.name}` and `{other.name}` were ranked under different protocols ({'; '.join(lines)}); "
                                "rank the edits of one under the other's protocol first")  # fmt: skip


def merged(entries: list[Entry]):
    """All per-target rows with `run`; a variant that two runs hold with the same ranks comes once, else as `variant @run`."""
    import pandas as pd

    kept: list = []
    for entry in entries:
        for variant, part in entry.targets.groupby("variant", sort=True):
            same = [k for k in kept if k["variant"].iloc[0] == variant]
            if any(_equal(k, part) for k in same):
                continue
            label = f"{variant} @{entry.name}" if same else variant
            kept.append(part.assign(variant=label, run=entry.name))
    return pd.concat(kept, ignore_index=True)


def _equal(one, other) -> bool:
    columns = [*KEY, "r_before", "r_after"]
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
    table.insert(3, "run", table["variant"].map(frame.groupby("variant")["run"].first()))
    auroc = [judged.get((r, v.partition(" @")[0]), float("nan")) for r, v in zip(table["run"], table["variant"])]
    table.insert(table.columns.get_loc("n_targets"), "judge_auroc", pd.Series(auroc, dtype=float))
    return table


def places(frame) -> dict[str, str]:
    """`1 to 3` per variant: the 95 % range of its place by mean NRG over resamples of the targets that all variants have."""
    import numpy as np

    from geobench.resampling import resampled_means
    from geobench.stats import PERCENTILES

    wide = frame.pivot(index=KEY, columns="variant", values="nrg").dropna()
    if wide.empty:
        return dict.fromkeys(frame["variant"].unique(), "--")
    keys = wide.reset_index()[["dataset", "list"]].astype(str).to_numpy()
    means = resampled_means(keys, wide.to_numpy(float), RESAMPLES, SEED)[0][1:]
    above = (means[:, None, :] > means[:, :, None] + 1e-12).sum(axis=2) + 1
    ends = np.percentile(above, PERCENTILES, axis=0, method="nearest").astype(int)
    return {v: f"{a} to {b}" if a < b else str(a) for v, a, b in zip(wide.columns, *ends)}


def judge_scores(entries: list[Entry]) -> dict[tuple, float]:
    """(run, variant) -> AUROC of the judge, for runs whose judge is that of the first run that has one."""
    from geobench.auroc import auroc_table

    found: dict[tuple, float] = {}
    first = next((e.judge for e in entries if e.judge), None)
    for entry in (e for e in entries if e.judge and e.judge == first):
        frame = auroc_table(entry.scores[[*KEY, "variant", "score"]])
        found |= {(entry.name, v): m for v, m in zip(frame["variant"], frame["mean"])}
    return found


def leaderboard(runs: list[str], to: str | Path, ranker: str | None = None) -> Path:
    """Write `<to>/<threat>.csv|.tex|.md`, `leaderboard.csv` and `index.html`; returns the page."""
    import pandas as pd

    entries, target = [read_entry(find(run), ranker) for run in dict.fromkeys(runs)], Path(to)
    require_one_protocol(entries)
    frame, judged, boards = merged(entries), judge_scores(entries), {}
    for threat in ORDER:
        part = frame[frame["variant"].map(lambda v: threat_of(v.partition(" @")[0])) == threat]
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
