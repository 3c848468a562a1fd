"""The generated half of the paper: numbers as macros, narrow tables, figures and the reproducibility appendix of one run.

`python -m geobench paper --run NAME` writes `paper/build/`; paper/paper.tex inputs it. What a run lacks is left out here and shows as a
framed gap there. The same run gives the same bytes.
"""

import re
import shutil
from pathlib import Path

from geobench import paths
from geobench.appendix import appendix
from geobench.compare import compare
from geobench.findings import numbers, table
from geobench.latex import latex, shown
from geobench.reproduce import folder_of, notebook_of
from geobench.tables import put, read_caption

CI = "{nrg} [{nrg_lo}, {nrg_hi}]"
TABLES = {  # name in the paper: (table of the run, heading -> what stands there)
    "methods": ("table_01_methods", {"variant": "{variant}", "threat model": "{threat model}", "access": "{access to the ranker}",
                                     "mechanism": "{mechanism}", "knows": "{knows of the prompt}"}),
    "data": ("table_05_datasets", {"data set": "{dataset}", "lists": "{lists}", "items": "{items}", "targets": "{targets}",
                                   "items per list": "{items per list}", "median words": "{median words}"}),
    "main": ("table_02_main", {"variant": "{variant}", "NRG [95 %]": CI, "S@0.1": "{success@0.1}", "P@0.1": "{promote@0.1}",
                               "KVR": "{kvr}", "PPL ratio": "{ppl_ratio}", "AUROC": "{judge_auroc}", "residual NRG": "{residual_either}"}),
    "contrasts": ("table_06_contrasts", {"a": "{a}", "b": "{b}", "difference [95 %]": "{dataset_mean} [{dataset_lo}, {dataset_hi}]",
                                         "p (adjusted)": "{dataset_p_adjusted}"}),
    "rankers": ("rankers", {"ranker": "{ranker}", "W": "{kendalls_w}", "copies its input": "{copies_input}", "parsed": "{parsed_ok}"}),
    "calibration": ("table_07_calibration", {"detector": "{detector}", "calibration": "{calibration}", "data set": "{dataset}",
                                             "realised": "{realised}"}),
    "ladder": ("table_04_published_ranks", {"texts": "{texts}", "step": "{step}", "changed": "{changed}", "settings": "{settings}",
                                            "NRG [95 %]": CI}),
    "search": ("search_main", {"victim": "{victim}", "condition": "{condition}", "ASR [95 %]": "{asr} [{asr_lo}, {asr_hi}]",
                               "accuracy [95 %]": "{accuracy} [{accuracy_lo}, {accuracy_hi}]"}),
    "agreement": ("search_agreement", {"raters": "{raters}", "statistic": "{statistic}",
                                         "kappa [95 %]": "{kappa} [{lo}, {hi}]", "n": "{n}"}),
    "defences": ("defence_effect", {"defence": "{defence}", "victim": "{victim}", "ASR without": "{without}", "with": "{with}",
                                    "change [95 %]": "{change} [{lo}, {hi}]", "emptied": "{empty}"}),
    "detectors": ("search_stat_detectors", {"detector": "{detector}", "test": "{test}", "AUC [95 %]": "{auc} [{lo}, {hi}]"}),
    "published": ("compare", {"variant": "{variant}", "ranker": "{ranker}", "data": "{dataset}", "metric": "{metric}",
                              "published": "{published}", "measured": "{measured}", "comparable": "{comparable}"}),
    "compute": ("table_16_compute", {"variant": "{variant}", "targets": "{targets}", "texts per target": "{texts per target}",
                                     "forward tokens": "{forward tokens}", "backward tokens": "{backward tokens}"}),
}  # fmt: skip
ROWS = {"ladder": ("part", "path")}  # only the rows in which this column holds this value
WRAPPED = {"mechanism": 0.3, "knows": 0.2, "comparable": 0.3, "settings": 0.3}  # headings of columns that wrap: share of the line
NAME = re.compile(r"\{([^}]*)\}")
SPECIAL = re.compile(r"[^\w .,:+@/-]", re.ASCII)  # characters of a key that TeX would not read as themselves


def build_paper(run: str, target: Path | None = None) -> Path:
    """Write what paper.tex inputs for a run; GeoBenchError if there is no such run."""
    folder, target = folder_of(run), Path(target or paths.ROOT / "paper" / "build")
    if (folder / "tables").is_dir():
        compare(run)  # no notebook writes it
    found, end = macros(folder), appendix(folder)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    put(target / "numbers.tex", found)
    for name, (source, columns) in TABLES.items():
        if (frame := table(folder, source)) is not None:
            column, value = ROWS.get(name, (None, None))
            frame = frame[frame[column] == value] if column in frame else frame
            put(target / f"table_{name}.tex", tabular(frame, source, columns, read_caption(folder / "tables" / f"{source}.json")))
    for file in sorted((folder / "figures").glob("*.pdf")):
        shutil.copyfile(file, target / file.name)
        put(target / f"{file.stem}.tex", _figure(file))
    put(target / "appendix.tex", end)
    return target


def macros(folder: Path) -> str:
    """One definition per number: \\val{key} in the text, where a key's special characters are their codes (`<25>` for %)."""
    found = {SPECIAL.sub(lambda c: f"<{ord(c[0]):X}>", key): value for key, value in sorted(numbers(folder).items())}
    lines = [rf"\expandafter\def\csname gb@{key}\endcsname{{{shown(_plain(value))}}}" for key, value in found.items()]
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
    align = "".join(rf">{{\raggedright\arraybackslash}}p{{{WRAPPED[h]}\linewidth}}" if h in WRAPPED else "l" for h in kept)
    body = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", head, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}"]
    return "\n".join([_top(caption, source, "tab"), r"\fitted{%", *body, "}", ""])


def _filled(form: str, row: dict) -> str:
    """The form with its values; an interval that is not there is left out."""
    return NAME.sub(lambda name: row[name[1]], form).removesuffix(" [--, --]")


def _top(caption: str, source: str, kind: str) -> str:
    made = notebook_of(source)
    by = rf"notebook \texttt{{{latex(made)}}}" if made else rf"\texttt{{python -m geobench {latex(source)}}}"
    return rf"\caption{{{latex(caption)} Made by {by}.}}\label{{{kind}:{source}}}"


def _figure(file: Path) -> str:
    top = _top(read_caption(file.with_suffix(".json")), file.stem, "fig")
    return rf"\includegraphics[width=.66\linewidth,height=.36\textheight,keepaspectratio]{{build/{file.name}}}" + f"\n{top}\n"
