"""The reproducibility appendix of the paper, from a run's manifests, records and parameters; what the run lacks shows as a framed gap.

Models with their revisions, prompts, decoding and budgets are what the records' fingerprints state, not what a file says today.
"""

from pathlib import Path

from geobench.findings import table
from geobench.latex import latex, over_pages
from geobench.records import read_fingerprint
from geobench.reproduce import command, manifests
from geobench.setup_tables import prompt_rows, stated

SEARCH = ("search/*.jsonl", "search/*/*.jsonl")
KINDS = {"edits": "Edits", "ranks": "Rankings", "scores": "Detectors", "search": "Search track", "prompts": "Prompts",
         "parameters": "Parameters"}  # fmt: skip


def appendix(folder: Path) -> str:
    """Its command, hardware, hours and dollars, notebooks, every setting and prompt, and the lexicon; LaTeX."""
    lines = [r"\subsection*{Command}", rf"\begin{{flushleft}}\ttfamily\small {latex(command(folder))}\end{{flushleft}}"]
    lines += _executed(manifests(folder))
    rows = _settings(folder)
    for kind, title in KINDS.items():
        part = [list(row[1:]) for row in rows if row[0] == kind]
        lines += [rf"\subsection*{{{title}}}", *over_pages(["setting", "value", "of"], part)] if part else []
    lines += [] if rows else [r"\gap{settings}"]
    return "\n".join([*lines, *_lexicon(folder / "scores" / "keyword.jsonl"), ""])


def _settings(folder: Path) -> list[tuple]:
    """(kind, setting, value, of) of the ranking track's table and of the search track's records; a prompt comes once."""
    frame = table(folder, "table_12_settings", dtype=str, keep_default_na=False)
    rows = [] if frame is None else list(frame[["records", "setting", "value", "of"]].itertuples(index=False, name=None))
    found = stated(folder, SEARCH)
    rows += [(kind, key, value, ", ".join(names)) for (kind, key, value), names in sorted(found.items())]
    rows += [("prompts", row["setting"], row["value"], row["of"]) for row in prompt_rows({value for _, _, value in found})]
    return list(dict.fromkeys(rows))


def _executed(made: list[dict]) -> list[str]:
    """Machine, hours, dollars, library versions, and one row per notebook."""
    machines = sorted({m["machine"] for m in made if m.get("machine")}) or ["Hardware not recorded"]
    versions = sorted({f"{k} {v}" for m in made for k, v in m.get("versions", {}).items()})
    hours = f"{sum(m.get('seconds', 0) for m in made) / 3600:.2f} hours in {len(made)} notebooks"
    paid = [m["dollars"] for m in made if "dollars" in m]  # each: what the run had paid by then
    cost = f"{max(paid):.2f} US dollars to API models" if paid else "payments not recorded"
    said = f"{'; '.join(machines)}. {hours}; {cost}. Versions: {', '.join(versions) or 'none'}."
    lines = [r"\subsection*{Hardware, time, cost and versions}", latex(said)]
    rows = [[m["notebook"], m.get("seconds", ""), m.get("digest", "")[:16]] for m in made]
    return lines + over_pages(["notebook", "seconds", "digest"], rows) if made else [*lines[:1], r"\gap{manifests}"]


def _lexicon(file: Path) -> list[str]:
    """The keyword filter's words and phrases, as its records state them."""
    detector = read_fingerprint(file).get("detector", {}) if file.exists() else {}
    lists = [f"{latex(kind.capitalize())}: {', '.join(map(latex, detector[kind]))}.\n" for kind in ("words", "phrases") if kind in detector]
    return [r"\subsection*{Lexicon}", r"{\small\raggedright", *lists, r"\par}"] if lists else []
