"""One HTML page of a run: summary, figures, example edits, tables that sort and filter, and how to make each of them again.

Everything it shows is inside the file (it makes no request); downloads and notebooks are links to the run's own files.
"""

import base64
import csv
import json
import re
from pathlib import Path

from geobench.errors import GeoBenchError, came
from geobench.findings import sentences
from geobench.json_values import parse_json
from geobench.pages import cells, render
from geobench.reproduce import command, folder_of, manifests, notebook_of, read_params
from geobench.tables import read_caption

SECTIONS = ("summary", "figures", "examples", "tables", "notebooks", "reproduce")
ASKED = (
    "how far does an edit of one item's description move it in an LLM's ranking, how far does a distorted source move a search engine's "
    "answer, and what tells such texts from honest ones?"
)
CAVEAT = (
    "Runs on the embedded models show the protocol at work: a 135M model is no stand-in for a deployed ranker, few lists give wide "
    "intervals, and the numbers are not comparable with the papers'."
)
FIRST = "table_02_main"  # opens with the page
MARK = re.compile(r"\[-(.*?)(?:-\]|$)|\{\+(.*?)(?:\+\}|$)", re.DOTALL)  # a text cut short may end inside a mark


def build_report(folder: Path) -> Path:
    """Write `<folder>/report/index.html` from what is in the run's folder."""
    folder = Path(folder)
    html = render(
        "report", name=folder.name, sections=SECTIONS, asked=ASKED, caveat=CAVEAT, findings=sentences(folder),
        figures=[_figure(f) for f in sorted((folder / "figures").glob("*.svg"))], examples=_examples(folder), tables=_tables(folder),
        status=_status(folder),
        command=_command(folder), params=_text(folder / "params.yaml"), manifest=json.dumps(manifests(folder), indent=1),
    )  # fmt: skip
    target = folder / "report" / "index.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(html, encoding="utf-8")
    return target


def report_of(run: str) -> Path:
    """The same for a run by name."""
    return build_report(folder_of(run))


def _status(folder: Path) -> list[dict]:
    """One row per notebook that the run has executed, over all calls: its state in the last call that chose it, `kept` where none says."""
    file = folder / "status.json"
    rows = {m["notebook"]: {"notebook": m["notebook"], "state": "kept", "seconds": m.get("seconds", "")} for m in manifests(folder)}
    try:
        said = parse_json(file.read_bytes()) if file.exists() else []
        rows |= {row["notebook"]: {k: row[k] for k in ("notebook", "state", "seconds")} for row in said}
    except (ValueError, KeyError, TypeError) as error:
        raise GeoBenchError(f"{file}: expected a list of notebooks, states and seconds ({came(error)}); delete it") from None
    return [rows[name] for name in sorted(rows)]


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _command(folder: Path) -> str:
    return command(folder) if read_params(folder) else "./run_all.sh"


def _captioned(file: Path) -> dict:
    return {"name": file.stem, "caption": read_caption(file.with_suffix(".json")), "notebook": notebook_of(file.stem)}


def _figure(file: Path) -> dict:
    """The figure as a data address: an SVG inside an image runs no script."""
    return _captioned(file) | {"data": "data:image/svg+xml;base64," + base64.b64encode(file.read_bytes()).decode()}


def _tables(folder: Path) -> list[dict]:
    """The main table first, then by name."""
    records, files = _records(folder), sorted((folder / "tables").glob("*.csv"), key=lambda f: (f.stem != FIRST, f.stem))
    found = []
    for n, file in enumerate(files):
        head, *rows = _rows(file) or [[]]
        shown = {"head": head, "rows": list(map(cells, rows)), "first": not n, "records": records.get(file.stem, "")}
        found.append(_captioned(file) | shown)
    return found


def _rows(file: Path) -> list[list[str]]:
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return list(csv.reader(lines))
    except (ValueError, csv.Error) as error:
        raise GeoBenchError(f"{file}: expected a table as its notebook writes it ({came(error, 80)}); run the notebook again") from None


def _records(folder: Path) -> dict[str, str]:
    """Per table: the kinds of record that feed it, with how many lines and the digest's first digits."""
    file = folder / "tables" / "table_13_sources.csv"
    found: dict[str, list[str]] = {}
    for row in csv.DictReader(file.open(encoding="utf-8", newline="")) if file.exists() else ():
        if row["sha256"]:
            found.setdefault(row["item"], []).append(f"{row['records']} ({row['lines']} lines, sha256 {row['sha256']})")
    return {name: ", ".join(parts) for name, parts in found.items()}


def _examples(folder: Path) -> list[dict]:
    file = folder / "tables" / "table_14_examples.csv"
    rows = csv.DictReader(file.open(encoding="utf-8", newline="")) if file.exists() else ()
    return [{"variant": r["variant"], "item": r["item"], "parts": parts(r["text"])} for r in rows]


def parts(text: str) -> list[tuple[str, str]]:
    """A wdiff text as (kind, words) in order: "+" for {+added+}, "-" for [-removed-], "" for the rest."""
    found, at = [], 0
    for mark in MARK.finditer(text):
        found += [("", text[at : mark.start()].strip())] if text[at : mark.start()].strip() else []
        found.append(("-", mark[1]) if mark[1] is not None else ("+", mark[2]))
        at = mark.end()
    return found + ([("", text[at:].strip())] if text[at:].strip() else [])

