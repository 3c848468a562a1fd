"""Runs that enter a leaderboard, ours and submitted ones: found by name or path, read, and refused where they were not ranked alike.

A run is a results folder with catalog.jsonl, params.yaml, edits/ and ranks/ (scores/ if there are any). All must have been ranked under
one protocol: the same lists, ranker (model, revision, prompt), orders and seed, as their records' fingerprints say.
"""

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
from geobench.records import UNIT, differences, read_fingerprint, read_records
from geobench.reproduce import read_params
from geobench.run import Run, sha, unit


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


def labels(folders: list[Path]) -> list[str]:
    """The folders' names, with as many of their parents' as tell them apart."""
    parts = 1
    while len(found := dict.fromkeys("/".join(f.parts[-parts:]) for f in folders)) < len(folders):
        parts += 1
    return list(found)


def read_entry(folder: Path, name: str, ranker: str | None = None) -> Entry:
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
    ranks = read_ranks(work, ranker)
    _require_ranked(work, place)
    try:
        rows = per_target(*ranks, ranker)
    except GeoBenchError as error:
        raise GeoBenchError(f"{place}: {error}") from None
    if rows.empty:
        raise GeoBenchError(f"{folder}: no variant was ranked by {ranker}")
    texts = {(variant, *unit(r)): sha(r["text"]) for variant, edits in work.edits().items() for r in edits}
    rows["text_sha"] = [texts[key] for key in rows[["variant", *UNIT]].itertuples(index=False, name=None)]
    if odd := [v for v in rows["variant"] if " @" in v]:
        raise GeoBenchError(f"{folder}: variant `{odd[0]}`: ` @` stands between a variant and its run in a leaderboard; rename its files")
    return Entry(name, ranker, protocol, rows, judge, read_scores(work, "judge") if judge else None)


def _require_ranked(work: Run, place: Path) -> None:
    """GeoBenchError for a rank of no edit, and for a variant that was ranked without some of its edits, which would flatter it."""
    for variant, edits in work.edits().items():
        if not (file := place / f"{variant}.jsonl").exists():
            continue
        wanted, ranked = {unit(r): sha(r["text"]) for r in edits}, {unit(r): r.get("text_sha") for r in read_records(file)}
        if strangers := [key for key in ranked if key not in wanted]:
            raise GeoBenchError(f"{file}: {'/'.join(map(str, strangers[0]))} is ranked, which edits/{variant}.jsonl does not have")
        if missing := [key for key, text in wanted.items() if ranked.get(key) != text]:
            raise GeoBenchError(
                f"{file}: {len(missing)} of {len(wanted)} edits are not ranked as they are ({'/'.join(map(str, missing[0]))} the first); "
                "run notebook 05_ranking over them"
            )


def _protocol(file: Path) -> dict:
    return {k: v for k, v in read_fingerprint(file).items() if k not in ("kind", "variant")}


def read_all(runs: list[str], ranker: str | None = None) -> list[Entry]:
    """Each run once, all under `ranker` (by default the first run's main one); GeoBenchError where they were not ranked alike."""
    folders, entries = list(dict.fromkeys(find(run).resolve() for run in runs)), []
    for folder, name in zip(folders, labels(folders)):
        entries.append(read_entry(folder, name, ranker or (entries[0].ranker if entries else None)))
    require_one_protocol(entries)
    return entries


def require_one_protocol(entries: list[Entry]) -> None:
    """Refuse runs that were not ranked alike, saying how."""
    first = entries[0]
    for other in entries[1:]:
        if lines := differences(first.protocol, other.protocol):
            raise GeoBenchError(f"`{first.name}` and `{other.name}` were ranked under different protocols ({'; '.join(lines)}); "
                                "rank the edits of one under the other's protocol first")  # fmt: skip
