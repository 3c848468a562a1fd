"""Every table as CSV (full values), LaTeX (booktabs, escaped), Markdown and its caption, the same bytes for the same frame."""

import json
import os
import unicodedata
from pathlib import Path

import numpy as np

from geobench.errors import GeoBenchError, came, printable
from geobench.json_values import parse_json

LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "[": "{[}", "]": "{]}", "*": "{*}", "|": r"\textbar{}", "`": r"\textasciigrave{}",
    "\u00a0": "~", "\u2212": r"\ensuremath{-}", "\u2248": r"\ensuremath{\approx}",
    "\u2264": r"\ensuremath{\le}", "\u2265": r"\ensuremath{\ge}", "\u2192": r"\ensuremath{\to}",
}  # fmt: skip
TYPESET = "–—‘’‚“”„†‡•…‰‹›€™"  # beyond Latin letters
SUFFIXES = (".csv", ".tex", ".md", ".json")
NOT_IN_T1 = "\u00ad\u0126\u0127\u0138\u013f\u0140\u0149\u0166\u0167"


def escape_latex(text: object) -> str:
    """Text from data, harmless in LaTeX with T1 fonts; a character that those lack is shown by its code, U+65E5."""
    plain = unicodedata.normalize("NFC", " ".join(str(text).split()))
    return "".join(LATEX.get(c) or (c if _typeset(c) else rf"\texttt{{U+{ord(c):04X}}}") for c in plain)


def _typeset(c: str) -> bool:
    """Whether pdfLaTeX sets this character without more packages: printable ASCII, Latin-1, Latin Extended-A, common punctuation."""
    return " " <= c <= "~" or ("\u00a1" <= c <= "\u017e" and c not in NOT_IN_T1) or c in TYPESET


def escape_markdown(text: object) -> str:
    """Text from data, harmless in a Markdown table cell."""
    return printable(" ".join(str(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").split()))


def cell(value: object, decimals: int = 3) -> str:
    """A value as shown: floats to `decimals`, whole numbers plain, missing as two dashes."""
    import pandas as pd

    if pd.isna(value):
        return "--"
    if not isinstance(value, (float, np.floating)):
        return str(value)
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def write_table(frame, folder: Path, name: str, caption: str, decimals: int = 3) -> None:
    """Write `<folder>/<name>.csv`, `.tex`, `.md` and `.json` (the caption). A frame without rows is no table: nothing is written, and
    what an earlier run wrote goes, so that no reader takes it for this one's."""
    folder = Path(folder)
    if frame.empty:
        for suffix in SUFFIXES:
            (folder / f"{name}{suffix}").unlink(missing_ok=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    rows = [[cell(v, decimals) for v in row] for row in frame.astype(object).itertuples(index=False, name=None)]
    head = [str(c) for c in frame.columns]
    put(folder / f"{name}.csv", frame.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    put(folder / f"{name}.tex", _latex(head, rows, name, caption))
    put(folder / f"{name}.md", _markdown(head, rows))
    put(folder / f"{name}.json", json.dumps({"caption": caption}, ensure_ascii=False) + "\n")


def read_caption(note: Path) -> str:
    """The caption in the `.json` beside a table or figure, else its name; GeoBenchError where the file is damaged."""
    try:
        return parse_json(note.read_bytes())["caption"] if note.exists() else note.stem
    except (ValueError, KeyError, TypeError) as error:
        raise GeoBenchError(f"{note}: expected a JSON object with a caption ({came(error)})") from None


def put(path: Path, text: str) -> None:
    """Write a whole file or nothing."""
    scratch = path.with_name(path.name + ".partial")
    scratch.write_text(text, encoding="utf-8")
    os.replace(scratch, path)


def _latex(head, rows, name, caption) -> str:
    lines = [" & ".join(map(escape_latex, row)) + r" \\" for row in rows]
    return "\n".join([
        r"\begin{table}", r"\centering", rf"\caption{{{escape_latex(caption)}}}", rf"\label{{tab:{name}}}",
        rf"\begin{{tabular}}{{{'l' * len(head)}}}", r"\toprule", " & ".join(map(escape_latex, head)) + r" \\", r"\midrule",
        *lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", "",
    ])  # fmt: skip


def _markdown(head, rows) -> str:
    table = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(escape_markdown, row)) + " |" for row in table) + "\n"


def read_table(file: Path, **options):
    """A table of a run as a frame (options: those of pandas.read_csv); GeoBenchError where the file is damaged."""
    import pandas as pd

    try:
        return pd.read_csv(file, **options)
    except (ValueError, pd.errors.ParserError) as error:  # of bytes that are no text, too
        raise GeoBenchError(f"{file}: expected a table as its notebook writes it ({came(error, 80)}); run the notebook again") from None
