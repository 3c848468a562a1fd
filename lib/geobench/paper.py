"""The generated half of the paper: numbers as macros, narrow tables, figures and the reproducibility appendix of one run.

`python -m geobench paper --run NAME` writes `paper/build/`; paper/paper.tex inputs it. What a run lacks is left out here and shows as a
framed gap there. The same run gives the same bytes.
"""

import json
import re
import shutil
from pathlib import Path

from geobench import paths
from geobench.findings import numbers, table
from geobench.records import read_fingerprint
from geobench.reproduce import command, folder_of, manifests, notebook_of
from geobench.tables import cell, escape_latex, put

CI = "{nrg} [{nrg_lo}, {nrg_hi}]"
TABLES = {  # name in the paper: (table of the run, heading -> what stands there)
    "methods": ("table_01_methods", {"variant": "{variant}", "threat model": "{threat model}", "access": "{access to the ranker}",
                                     "knows": "{knows of the prompt}"}),
    "data": ("table_05_datasets", {"data set": "{dataset}", "lists": "{lists}", "items": "{items}", "targets": "{targets}",
                                   "items per list": "{items per list}", "median words": "{median words}"}),
    "main": ("table_02_main", {"variant": "{variant}", "NRG [95 %]": CI, "S@0.1": "{success@0.1}", "P@0.1": "{promote@0.1}",
                               "KVR": "{kvr}", "PPL ratio": "{ppl_ratio}", "AUROC": "{judge_auroc}", "residual NRG": "{residual_either}"}),
    "contrasts": ("table_06_contrasts", {"a": "{a}", "b": "{b}", "difference [95 %]": "{dataset_mean} [{dataset_lo}, {dataset_hi}]",
                                         "p (Holm)": "{dataset_p_holm}"}),
    "rankers": ("rankers", {"ranker": "{ranker}", "W": "{kendalls_w}", "copies its input": "{copies_input}", "parsed": "{parsed_ok}"}),
    "calibration": ("table_07_calibration", {"detector": "{detector}", "calibration": "{calibration}", "data set": "{dataset}",
                                             "realised": "{realised}"}),
    "ladder": ("table_04_published_ranks", {"texts": "{texts}", "step": "{step}", "NRG [95 %]": CI}),
    "search": ("search_main", {"victim": "{victim}", "condition": "{condition}", "ASR [95 %]": "{asr} [{asr_lo}, {asr_hi}]",
                               "accuracy [95 %]": "{accuracy} [{accuracy_lo}, {accuracy_hi}]"}),
    "agreement": ("search_agreement", {"raters": "{raters}", "statistic": "{statistic}",
                                         "kappa [95 %]": "{kappa} [{lo}, {hi}]", "n": "{n}"}),
    "published": ("compare", {"variant": "{variant}", "ranker": "{ranker}", "data": "{dataset}", "metric": "{metric}",
                              "published": "{published}", "measured": "{measured}", "comparable": "{comparable}"}),
    "compute": ("table_16_compute", {"variant": "{variant}", "targets": "{targets}", "texts per target": "{texts per target}",
                                     "forward tokens": "{forward tokens}", "backward tokens": "{backward tokens}"}),
}  # fmt: skip
NAME = re.compile(r"\{([^}]*)\}")


def latex(text: object) -> str:
    """Text from data for LaTeX prose: escaped, and dashes and quotes as they are typed."""
    line = escape_latex(text)
    return line if line == "--" else line.replace("--", "-{}-").replace("'", r"\textquotesingle{}")


def shown(value: object) -> str:
    """A value as prose and tables show it: two decimals (none from 100 on; two digits where they say nothing), a true minus sign."""
    text = cell(value, 0 if isinstance(value, float) and abs(value) >= 100 else 2)
    if isinstance(value, float) and float(value) and text in ("0.00", "-0.00"):
        text = f"{value:.1e}"
    return "$-$" + latex(text[1:]) if isinstance(value, (int, float)) and text.startswith("-") and text != "--" else latex(text)


def build_paper(run: str, target: Path | None = None) -> Path:
    """Write what paper.tex inputs for a run; GeoBenchError if there is no such run."""
    folder, target = folder_of(run), Path(target or paths.ROOT / "paper" / "build")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    put(target / "numbers.tex", macros(folder))
    for name, (source, columns) in TABLES.items():
        if (frame := table(folder, source)) is not None:
            put(target / f"table_{name}.tex", tabular(frame, source, columns, _caption(folder / "tables" / f"{source}.json")))
    for file in sorted((folder / "figures").glob("*.pdf")):
        shutil.copyfile(file, target / file.name)
        put(target / f"{file.stem}.tex", _figure(file))
    put(target / "appendix.tex", appendix(folder))
    return target


def macros(folder: Path) -> str:
    """One definition per number: \\val{key} in the text."""
    lines = [rf"\expandafter\def\csname gb@{key}\endcsname{{{shown(_plain(v))}}}" for key, v in sorted(numbers(folder).items())]
    return "\n".join(["% Written by the run; do not edit.", *lines, ""])


def _plain(value: object):
    """A numpy number as Python's own."""
    return value.item() if hasattr(value, "item") else value


def tabular(frame, source: str, columns: dict[str, str], caption: str) -> str:
    """Caption, label, the notebook that made it and a booktabs tabular; columns that the table lacks are left out."""
    rows = [{k: shown(_plain(v)) for k, v in row.items()} for row in frame.to_dict("records")]
    kept = {head: form for head, form in columns.items() if set(NAME.findall(form)) <= set(frame)}
    lines = [" & ".join(_filled(form, row) for form in kept.values()) + r" \\" for row in rows]
    head = " & ".join(map(latex, kept)) + r" \\"
    body = [rf"\begin{{tabular}}{{{'l' * len(kept)}}}", r"\toprule", head, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}"]
    return "\n".join([_top(caption, source, "tab"), r"\fitted{%", *body, "}", ""])


def _filled(form: str, row: dict) -> str:
    """The form with its values; an interval that is not there is left out."""
    return NAME.sub(lambda name: row[name[1]], form).removesuffix(" [--, --]")


def _top(caption: str, source: str, kind: str) -> str:
    made = notebook_of(source)
    by = rf"notebook \texttt{{{latex(made)}}}" if made else rf"\texttt{{python -m geobench {latex(source)}}}"
    return rf"\caption{{{latex(caption)} Made by {by}.}}\label{{{kind}:{source}}}"


def _caption(file: Path) -> str:
    return json.loads(file.read_text(encoding="utf-8"))["caption"] if file.exists() else file.stem


def _figure(file: Path) -> str:
    top = _top(_caption(file.with_suffix(".json")), file.stem, "fig")
    return rf"\includegraphics[width=\linewidth,height=.4\textheight,keepaspectratio]{{build/{file.name}}}" + f"\n{top}\n"


def appendix(folder: Path) -> str:
    """How the run is made again: its command, notebooks with seconds and versions, every setting and prompt, and its compute."""
    lines = [r"\subsection*{Command}", rf"\begin{{flushleft}}\ttfamily\small {latex(command(folder))}\end{{flushleft}}"]
    lines += _executed(manifests(folder))
    settings = table(folder, "table_12_settings", dtype=str, keep_default_na=False)
    if settings is None:
        return "\n".join([*lines, r"\gap{settings}", ""])
    for kind, part in settings.groupby("records", sort=False):
        lines.append(rf"\subsection*{{{latex(kind.capitalize())}}}")
        lines += _long(["setting", "value", "of"], part[["setting", "value", "of"]].values.tolist())
    return "\n".join([*lines, *_lexicon(folder / "scores" / "keyword.jsonl"), ""])


def _lexicon(file: Path) -> list[str]:
    """The keyword filter's words and phrases, as its records state them."""
    detector = read_fingerprint(file).get("detector", {}) if file.exists() else {}
    lists = [f"{latex(kind.capitalize())}: {', '.join(map(latex, detector[kind]))}.\n" for kind in ("words", "phrases") if kind in detector]
    return [r"\subsection*{Lexicon}", r"{\small\raggedright", *lists, r"\par}"] if lists else []


def _executed(made: list[dict]) -> list[str]:
    """Machine, hours, library versions, and one row per notebook."""
    machines = sorted({m["machine"] for m in made if m.get("machine")}) or ["Hardware not recorded"]
    versions = sorted({f"{k} {v}" for m in made for k, v in m.get("versions", {}).items()})
    hours = f"{sum(m.get('seconds', 0) for m in made) / 3600:.2f} hours in {len(made)} notebooks."
    said = f"{'; '.join(machines)}. {hours} Versions: {', '.join(versions) or 'none'}."
    lines = [r"\subsection*{Hardware, time and versions}", latex(said)]
    rows = [[m["notebook"], m.get("seconds", ""), m.get("digest", "")[:16]] for m in made]
    return lines + _long(["notebook", "seconds", "digest"], rows) if made else [r"\gap{manifests}"]


def _long(head: list[str], rows: list[list]) -> list[str]:
    """A table of three ragged columns over pages."""
    columns = "".join(rf">{{\raggedright\arraybackslash}}p{{{w}\linewidth}}" for w in (0.26, 0.44, 0.2))
    body = [" & ".join(_breakable(v) for v in row) + r" \\" for row in rows]
    top = [rf"{{\scriptsize\begin{{longtable}}{{{columns}}}", r"\toprule", " & ".join(map(latex, head)) + r" \\", r"\midrule\endhead"]
    return [*top, *body, r"\bottomrule", r"\end{longtable}}"]


def _breakable(value: object) -> str:
    """Text in which a long unbroken run (a digest, a path) may break."""
    words = str(value).split()
    return " ".join(latex(w) if len(w) <= 16 else r"\allowbreak{}".join(latex(w[n : n + 8]) for n in range(0, len(w), 8)) for w in words)
