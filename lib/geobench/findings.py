"""What a finished run found, read off its tables: numbers by key for the paper's text, and sentences for the report.

Nothing is computed here that a table does not hold; a table that is missing leaves its keys and sentences out.
"""

import re
from pathlib import Path

from geobench import multiplicity, stats
from geobench.errors import GeoBenchError, came
from geobench.reproduce import read_params
from geobench.search.defences.tables import MEAN
from geobench.tables import read_table
from geobench.variants import ORDER, method_of

COUNT = re.compile(r"n|n_\w+|lists|items|targets|items per list|rankings|lines|files|line|step|median words")


def table(folder: Path, name: str, **options):
    """A table of the run as a frame (options: those of pandas.read_csv); None where it is missing or has no rows."""
    file = Path(folder) / "tables" / f"{name}.csv"
    if not file.exists() or file.stat().st_size < 2:
        return None
    frame = read_table(file, **options)
    whole = [c for c in frame.select_dtypes("integer") if not COUNT.fullmatch(c)]  # a rate that is 0 or 1 everywhere is still a rate
    return None if frame.empty else frame.astype(dict.fromkeys(whole, float))


def numbers(folder: Path) -> dict[str, object]:
    """Every number that prose may quote, by key such as `main.injection.nrg` or `search.id.generate.asr`."""
    found: dict[str, object] = {}
    for part in (_setup, _main, _detection, _released, _search, _defences, _published):
        try:
            found |= {key: value for key, value in part(Path(folder)).items() if value == value}
        except (KeyError, AttributeError) as error:
            raise GeoBenchError(f"{folder}/tables: one lacks {came(error.args[0])}; delete it and run its notebook again") from error
    return found


def _setup(folder: Path) -> dict:
    params, names = read_params(folder), ("orders", "resamples", "main_ranker", "false_positive_rate")
    found = {"run.name": folder.name} | {f"run.{k}": params[k] for k in names if k in params}
    if kind := params.get("inference"):
        found["run.intervals"], found["run.tests"] = stats.described(kind), multiplicity.described(kind, params.get("multiplicity"))
    return found


def _main(folder: Path) -> dict:
    found: dict = {}
    if (frame := table(folder, "table_02_main")) is None:
        return found
    for row in frame.to_dict("records"):
        for name in {row["variant"], method_of(row["variant"])}:  # the method alone: its strongest variant, which comes first
            found = {f"main.{name}.{k}": v for k, v in row.items() if k not in ("variant", "note")} | found
    for threat, part in frame.groupby("threat"):
        best = part.sort_values(["nrg", "variant"]).iloc[-1]
        found |= {f"best.{threat}.{k}": best[k] for k in best.index if k != "note"}
    found |= {"run.variants": len(frame)} | {f"run.{k}": frame[f"n_{k}"].max() for k in ("targets", "lists", "datasets")}
    found["main.above_zero"] = int((frame["nrg_lo"] > 0).sum())
    pairs = table(folder, "table_17_all_contrasts")
    return found | ({} if pairs is None else {"contrasts.n": len(pairs), "contrasts.differ": int((pairs["p_adjusted"] < 0.05).sum())})


def _detection(folder: Path) -> dict:
    found: dict = {}
    if (frame := table(folder, "table_18_auroc")) is not None:
        best = frame.loc[frame["auroc"].idxmax()]
        found |= {"auroc.best": best["auroc"], "auroc.best.detector": best["detector"], "auroc.best.variant": best["variant"]}
    moved = table(folder, "table_07_calibration")
    moved = None if moved is None else moved[moved["calibration"] == "leave one data set out"].dropna(subset=["realised"])
    if moved is not None and len(moved):
        found |= {"calibration.least": moved["realised"].min(), "calibration.most": moved["realised"].max()}
    return found


def _released(folder: Path) -> dict:
    found: dict = {}
    frame = table(folder, "released_intervals")
    for row in () if frame is None else frame[frame["value"] == "nrg"].to_dict("records"):
        key = f"released.{row['variant']}, {row['dataset']}.nrg"
        found |= {key: row["mean"], f"{key}_lo": row["lo"], f"{key}_hi": row["hi"]}
    return found


def _search(folder: Path) -> dict:
    found: dict = {}
    frame, kappa = table(folder, "search_main"), table(folder, "search_agreement")
    for row in () if frame is None else frame.to_dict("records"):
        role = row["victim"].rpartition(":")[2]
        found |= {f"search.{row['condition']}.{role}.{k}": v for k, v in row.items() if k not in ("victim", "condition")}
    if kappa is not None:
        first = kappa.iloc[0]
        found |= {"agreement.kappa": first["kappa"], "agreement.lo": first["lo"], "agreement.hi": first["hi"], "agreement.n": first["n"]}
    return found


def _defences(folder: Path) -> dict:
    """The configuration that lowers the attack's success most on average over victims: its name, and its least and largest change."""
    frame = table(folder, "defence_effect")
    if frame is None:
        return {}
    frame = frame[frame["victim"] != MEAN]
    name = frame.groupby("defence")["change"].mean().sort_values(kind="stable").index[0]
    change = frame.loc[frame["defence"] == name, "change"]
    return {"defence.best": name, "defence.best.most": change.min(), "defence.best.least": change.max(), "defence.victims": len(change)}


def _published(folder: Path) -> dict:
    frame = table(folder, "compare")
    return {} if frame is None else {"published.n": len(frame), "published.comparable": int((frame["comparable"] == "yes").sum())}


def sentences(folder: Path) -> list[str]:
    """What came out, one sentence per finding, with 95 % intervals."""
    n = numbers(folder)
    lines = []
    if "run.targets" in n:
        sets = "data set" if n["run.datasets"] == 1 else "data sets"
        lines.append(
            f"Edits of {n['run.targets']} targets in {n['run.lists']} lists of {n['run.datasets']} {sets}, {n['run.variants']} variants; "
            f"the mean gain's interval lies above zero for {n['main.above_zero']} of them."
        )
    for threat in (t for t in ORDER if f"best.{t}.nrg" in n):
        gain = _with_interval(n, f"best.{threat}.nrg")
        seen = n.get(f"best.{threat}.judge_auroc")
        caught = f"; the judge tells it from originals with AUROC {_with_interval(n, f'best.{threat}.judge_auroc')}" if seen else ""
        lines.append(f"Strongest {threat} variant: {n[f'best.{threat}.variant']}, NRG {gain}{caught}.")
    if "contrasts.n" in n:
        lines.append(f"{n['contrasts.differ']} of {n['contrasts.n']} pairs of variants differ at the 5 % level, adjusted over all pairs.")
    if "auroc.best" in n:
        lines.append(f"Highest mean AUROC of a detector: {n['auroc.best']:.2f} ({n['auroc.best.detector']} on {n['auroc.best.variant']}).")
    for key in (k for k in n if k.startswith("released.") and k.endswith(".nrg")):
        lines.append(f"Released records of {key.removeprefix('released.').removesuffix('.nrg')}: NRG {_with_interval(n, key)}.")
    for key in (k for k in n if k.startswith("search.id.") and k.endswith(".asr")):
        victim, clean = key.split(".")[2], _with_interval(n, key.replace(".id.", ".clean."))
        lines.append(f"Search track, {victim} victim: false claim in the answer {_with_interval(n, key)} when one of five sources is "
                     f"distorted, {clean} when none is.")  # fmt: skip
    if "defence.best" in n:
        lines.append(f"The defence that helps most on average, {n['defence.best']}, changes that score by "
                     f"{n['defence.best.least']:+.2f} to {n['defence.best.most']:+.2f} over {n['defence.victims']} victims.")  # fmt: skip
    return lines


def _with_interval(n: dict, key: str) -> str:
    """`0.48 [0.20, 0.75]`; the mean alone where there is no interval."""
    low, high = n.get(f"{key}_lo"), n.get(f"{key}_hi")
    if key not in n:
        return "not measured"
    return f"{n[key]:.2f}" if low is None else f"{n[key]:.2f} [{low:.2f}, {high:.2f}]"
