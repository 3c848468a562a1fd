"""Measured against published, side by side: `python -m geobench compare --run NAME`.

A pair is comparable only where variant, ranker and data are the same; else the row says what differs, and its difference is no
finding about either.
"""

from pathlib import Path

from geobench import paths
from geobench.errors import GeoBenchError
from geobench.published import FIVE, read_published, read_release, release_spearman, spearman_ranges, spearman_sets
from geobench.reproduce import read_params, run_folder
from geobench.tables import cell, read_table, write_table
from geobench.variants import method_of

CAPTION = "Measured against published figures; only rows marked comparable measure the same thing."


def measured(folder: Path):
    """Long rows (variant, ranker, dataset, metric, value) out of a run's tables."""
    import pandas as pd

    rows, params = [], read_params(folder, "datasets", "main_ranker", "judge")
    if (file := folder / "tables" / "released.csv").exists():
        for row in read_table(file).to_dict("records"):
            rows += _long(row, row["variant"].partition("__")[2], row["dataset"], ("nrg", "success@0.1", "promote@0.1", "kvr"))
    if params and (file := folder / "tables" / "table_02_main.csv").exists():
        data = " + ".join(params["datasets"])
        for row in read_table(file).to_dict("records"):
            rows += _long(row, params["main_ranker"], data, ("nrg", "success@0.1", "promote@0.1", "kvr"))
            rows += _long(row, params["judge"], data, ("judge_auroc",))
    if params and (file := folder / "tables" / "table_11_per_dataset.csv").exists():
        for row in read_table(file).to_dict("records"):
            rows += _long(row, params["main_ranker"], row["dataset"], ("nrg", "success@0.1"))
    release = read_release()
    if len(release):
        ranges = spearman_ranges(release_spearman(release))
        rows += [{"variant": "all", "ranker": _ranker(m), "dataset": FIVE, "metric": m, "value": v} for m, v in ranges.items()]
    return pd.DataFrame(rows, columns=["variant", "ranker", "dataset", "metric", "value"]).dropna(subset=["value"])


def _ranker(metric: str) -> str:
    return "LLM rankers" if "llm" in metric else "bge-reranker-v2-m3"


def _long(row: dict, ranker: str, dataset: str, metrics) -> list[dict]:
    return [{"variant": row["variant"], "ranker": ranker, "dataset": dataset, "metric": m, "value": row[m]} for m in metrics if m in row]


def side_by_side(published, found):
    """One row per published figure: the measured one that is nearest in kind, their difference, and what is not the same."""
    import pandas as pd

    rows = []
    for one in published.to_dict("records"):
        row = {k: one[k] for k in ("source", "variant", "ranker", "dataset", "metric")} | {"published": one["value"]}
        same = found[(found["metric"] == one["metric"]) & (found["variant"].map(method_of) == method_of(one["variant"]))]
        if same.empty:
            rows.append(row | {"measured": float("nan"), "difference": float("nan"), "comparable": "not measured in this run"})
            continue
        apart = [(_apart(one, other), n) for n, other in enumerate(same.to_dict("records"))]
        why, n = min(apart, key=lambda pair: (len(pair[0]), pair[1]))
        value = float(same.iloc[n]["value"])
        rows.append(
            row | {"measured": value, "difference": value - one["value"], "comparable": "yes" if not why else "no: " + ", ".join(why)}
        )
    return pd.DataFrame(rows)


def _apart(one: dict, other: dict) -> list[str]:
    """What differs between a published and a measured figure."""
    names = {"variant": "variant", "ranker": "judge" if one["metric"] == "judge_auroc" else "ranker", "dataset": "data"}
    return [f"other {name} ({other[key]})" for key, name in names.items() if one[key] != other[key]]


def compare(run: str) -> str:
    """Write `tables/compare.*` of a run and return what to print."""
    folder = run_folder(run)
    if not (folder / "tables").is_dir():
        raise GeoBenchError(f"no tables of a run `{run}` in {paths.RESULTS}: run ./run_all.sh first")
    table = side_by_side(read_published(), measured(folder))
    write_table(table, folder / "tables", "compare", CAPTION)
    lines = [f"{'metric':<20} {'published':>9} {'measured':>9} {'difference':>10}  variant, data: comparable?"]
    for row in table.itertuples():
        numbers = f"{cell(row.published):>9} {cell(row.measured):>9} {cell(row.difference):>10}"
        lines.append(f"{row.metric:<20} {numbers}  {row.variant}, {row.dataset}: {row.comparable}")
    same = (table["comparable"] == "yes").sum()
    lines.append(
        f"{same} of {len(table)} published figures have a measured one that is comparable; the others differ in ranker, data or variant."
    )
    return "\n".join([*lines, *_by_variants(folder / "tables")])


def _by_variants(tables: Path) -> list[str]:
    """Write `compare_spearman.*` and return its lines: the release's Spearman ranges by which variants enter."""
    if not len(release := read_release()):
        return []
    sets = spearman_sets(release)
    write_table(sets, tables, "compare_spearman", "Spearman ranges of the release by which variants enter; the paper does not list them.")
    names = [c for c in sets if c.startswith("spearman")]
    lines = ["Spearman ranges of the release by which variants enter (the paper does not list them; only the second rule has a source):"]
    return lines + [f"  {row['variants']} ({row['n']}): " + ", ".join(f"{row[n]:.2f}" for n in names) for row in sets.to_dict("records")]
