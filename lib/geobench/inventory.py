"""Every table and figure of the ranking track: file name, caption, and the record files that feed it.

Captions live here, so that the report, LaTeX and Markdown say the same; `provenance` counts and hashes the files that fed a run's.
"""

import hashlib
import json
from pathlib import Path

from geobench import stats
from geobench.errors import GeoBenchError, nearest
from geobench.multiplicity import described as multiplicity_words
from geobench.tables import write_table

CLEAN, EDITS, RANKS, SCORES = "catalog.jsonl", "edits/*.jsonl", "ranks/*/*.jsonl", "scores/*.jsonl"

TABLES = {
    "table_01_methods": ("Methods by threat model: access to the ranker, mechanism, what they know of its prompt.", (EDITS,)),
    "table_02_main": (
        "Main results under the main ranker, by threat model: equal-dataset means; residual NRG counts "
        "flagged edits as no gain.",
        (CLEAN, EDITS, RANKS, SCORES),
    ),
    "table_03_rankers": ("NRG of every variant on every ranker; the same texts throughout.", (RANKS,)),
    "table_03_spearman": ("Spearman correlation of five or more variants' NRG between rankers, where both have them in full.", (RANKS,)),
    "table_03_spearman_datasets": ("Spearman correlation of five or more variants' NRG between data sets, main ranker.", (RANKS,)),
    "table_04_scripts": ("The same texts under other evaluation scripts: one factor changed at a time.", (EDITS, "ladder/*/*.jsonl")),
    "table_04_published_ranks": ("Evaluation ladder from published ranks alone.", ("released records",)),
    "table_04_selection": ("StealthRank traces under three ways of choosing the checkpoint.", ("released records",)),
    "table_05_datasets": ("Data sets: lists, items, targets, and words per description.", (CLEAN,)),
    "table_06_contrasts": ("Main contrasts, with equal weight to data sets and to targets.", (RANKS,)),
    "table_07_calibration": ("Calibration: realised false-positive rates of thresholds set on all, pooled or other data sets.", (SCORES,)),
    "table_08_passes_filter": ("What passes the filter: flag rate, residual NRG, promoted and passed.", (RANKS, SCORES)),
    "table_09_rewrites": ("All rewrites.", (EDITS, RANKS, SCORES)),
    "table_10_models": ("Attacker and rewriter ablation: one method under several models.", (EDITS, RANKS)),
    "table_10_knowledge": (
        "White-box methods by what their search saw of the ranker: its own prompt alone, a paraphrase, the deployed prompt, the read-out; "
        "gain over the weakest of these.", (EDITS, RANKS),
    ),
    "table_11_per_dataset": ("Results per data set under the main ranker.", (RANKS,)),
    "table_12_settings": ("Models, hyper-parameters, prompts and budgets, as the records say.", (EDITS, RANKS, SCORES)),
    "table_13_sources": ("Record files behind each table and figure of notebooks 02 to 08.", (CLEAN, EDITS, RANKS, SCORES)),
    "table_14_examples": ("Example texts: [-removed-] and {+added+} words.", (CLEAN, EDITS)),
    "table_15_unparsed": (
        "How replies were read, per ranker and variant: shares of rankings; missing: the target (clean: an item) is left out.", (RANKS,),
    ),
    "table_15_search": ("TAP: first place under its search orders, and how often it is kept in the evaluation.", (EDITS, RANKS)),
    "table_16_compute": ("Compute per variant: texts tried, and tokens run forward and backward, per target.", (EDITS,)),
    "table_17_all_contrasts": ("All paired contrasts under the main ranker.", (RANKS,)),
    "table_18_auroc": ("AUROC of each detector, edited against original descriptions.", (SCORES,)),
}  # fmt: skip

FIGURES = {
    "fig_tradeoff": (
        "Effectiveness (NRG) against detectability (judge AUROC); the upper left is strong and hidden.",
        (RANKS, SCORES),
    ),
    "fig_tradeoff_v1": (
        "Effectiveness against the keyword violation rate; larger markers read less naturally (perplexity ratio).",
        (RANKS, SCORES),
    ),
    "fig_gain": ("NRG per variant.", (RANKS,)),
    "fig_gain_datasets": ("NRG per variant and data set: does one data set carry the mean?", (RANKS,)),
    "fig_before_after": ("Median rank of each target before and after; below the diagonal it moved up.", (RANKS,)),
    "fig_roc": ("Share of edits flagged at low false-positive rates, per detector; dotted: chance.", (SCORES,)),
    "fig_calibration": ("Realised false-positive rate per data set under three calibrations; the line is the rate asked for.", (SCORES,)),
    "fig_spearman": ("Spearman correlation of the variants' order between rankers; n/a: they share fewer than five.", (RANKS,)),
    "fig_contrasts": ("Paired difference in NRG, row minus column (numbered as the rows); a dot: adjusted p below 0.05.", (RANKS,)),
}  # fmt: skip


INTERVALS = ("table_02_main", "table_04_scripts", "table_04_published_ranks", "table_06_contrasts", "table_08_passes_filter",
             "table_09_rewrites", "table_10_models", "table_11_per_dataset", "table_17_all_contrasts", "table_18_auroc", "fig_tradeoff",
             "fig_gain", "fig_gain_datasets", "table_10_knowledge")  # fmt: skip
ADJUSTED = ("table_06_contrasts", "table_17_all_contrasts", "fig_contrasts")


def caption(name: str, inference: str = "t", multiplicity: str | None = None) -> str:
    """The caption of a table or figure, with how its intervals and p were made; GeoBenchError, with the nearest name, for one that is not
    in the inventory."""
    known = TABLES | FIGURES
    if name not in known:
        raise GeoBenchError(f"no table or figure `{name}`.{nearest(name, known)}")
    made = [stats.described(inference)] if name in INTERVALS else []
    made += [multiplicity_words(inference, multiplicity)] if name in ADJUSTED else []
    return " ".join([known[name][0], *made])


def save(work, name: str, frame) -> None:
    """Write a table of the inventory into the run's `tables/`."""
    write_table(frame, work.folder / "tables", name, caption(name, work.params.inference, work.params.multiplicity))


def provenance(folder: Path):
    """One row per table or figure of notebooks 02 to 08 and kind of record that feeds it: number of files, records and a digest of their
    content. Those of 09 and 10, which come later, are not among them: the table is the same whenever it is made."""
    import pandas as pd

    counted = {pattern: _count(Path(folder), pattern) for pattern in (CLEAN, EDITS, RANKS, SCORES)}
    rows = []
    for name, (_, patterns) in (TABLES | FIGURES).items():
        for pattern in patterns if counted.keys() >= set(patterns) else ():
            files, records, digest = counted[pattern]
            rows.append({"item": name, "records": pattern, "files": files, "lines": records, "sha256": digest})
    return pd.DataFrame(rows)


def _count(folder: Path, pattern: str) -> tuple[int, int, str]:
    """(files, lines, digest of the lines in any order, without the seconds and memory that they took)."""
    files, rows = sorted(folder.glob(pattern)), []
    for file in files:
        for line in file.read_bytes().splitlines():
            row = json.loads(line)
            row.pop("seconds", None)
            row.pop("peak_mib", None)
            rows.append(f"{file.stem} {json.dumps(row, sort_keys=True)}")
    digest = hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()
    return len(files), len(rows), digest[:12] if files else ""
