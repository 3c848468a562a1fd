import os
import re
import shutil
import subprocess

import pandas as pd
import pytest

from geobench import paper, paths
from geobench.errors import GeoBenchError
from geobench.figures import axes_of, write_figure
from geobench.tables import write_table

ODD = r"external__a%b_{c}#&~^\$é"  # a file name that a user may give
TEXT = (paths.ROOT / "paper" / "paper.tex").read_text()


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    folder = tmp_path / "mine"
    main = pd.DataFrame({
        "variant": ["injection", "padding", ODD], "threat": ["control", "control", "external"], "nrg": [0.5, -0.25, 0.0],
        "nrg_lo": [0.25, float("nan"), -0.5], "nrg_hi": [0.75, float("nan"), 0.5], "kvr": [1.0, 0.0, 0.5],
        "n_targets": 4, "n_lists": 4, "n_datasets": 2,
    })  # fmt: skip
    write_table(main, folder / "tables", "table_02_main", "50 % & more")
    (folder / "figures").mkdir()
    for kind, text in (("pdf", "%PDF"), ("json", '{"caption": "A_b"}')):
        (folder / "figures" / f"fig_roc.{kind}").write_text(text)
    return folder


def test_numbers_become_macros(run):
    lines = paper.macros(run).splitlines()
    assert r"\expandafter\def\csname gb@main.injection.nrg\endcsname{0.50}" in lines
    assert r"\expandafter\def\csname gb@main.padding.nrg\endcsname{$-$0.25}" in lines


def test_special_characters_of_a_variants_name_are_codes_in_keys_and_escaped_in_text(run):
    lines = paper.macros(run).splitlines()
    assert r"\expandafter\def\csname gb@main.external__a<25>b_<7B>c<7D><23><26><7E><5E><5C><24><E9>.nrg\endcsname{0.00}" in lines
    shown = r"external\_\_a\%b\_\{c\}\#\&\textasciitilde{}\textasciicircum{}\textbackslash{}\$é"
    assert rf"\expandafter\def\csname gb@best.external.variant\endcsname{{{shown}}}" in lines


def test_tables_are_narrow_and_name_their_notebook(run, tmp_path):
    made = paper.build_paper("mine", tmp_path / "build")
    text = (made / "table_main.tex").read_text()
    assert r"\caption{50 \% \& more Made by notebook \texttt{07\_statistics}.}\label{tab:table_02_main}" in text
    assert r"injection & 0.50 [0.25, 0.75] & 1.00 \\" in text  # columns that the run lacks are left out
    assert r"padding & $-$0.25 & 0.00 \\" in text  # no interval
    assert "build/fig_roc.pdf" in (made / "fig_roc.tex").read_text() and r"\gap{settings}" in (made / "appendix.tex").read_text()
    assert not (made / "table_search.tex").exists()  # paper.tex shows a gap


def test_long_columns_wrap_and_the_ladder_shows_its_path_alone(run, tmp_path):
    steps = {"texts": "t", "part": ["x", "path"], "step": [1, 1], "changed": ["alone", "orders"], "settings": "one", "nrg": 0.5}
    write_table(pd.DataFrame(steps), run / "tables", "table_04_published_ranks", "")
    made = paper.build_paper("mine", tmp_path / "build")
    assert r"\begin{tabular}{llllll>{\raggedright\arraybackslash}p{0.3\linewidth}}" in (made / "table_published.tex").read_text()
    ladder = (made / "table_ladder.tex").read_text()
    assert r"t & 1 & orders & one \\" in ladder and "alone" not in ladder


def test_same_run_same_bytes(run, tmp_path):
    def files(folder):
        return {f.name: f.read_bytes() for f in paper.build_paper("mine", folder).iterdir()}

    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_braces_balance(run, tmp_path):
    made = paper.build_paper("mine", tmp_path / "build")
    for text in (TEXT, *(f.read_text() for f in made.glob("*.tex"))):
        plain = re.sub(r"\\[{}]|(?<!\\)%.*", "", text)
        assert plain.count("{") == plain.count("}")
        opened, closed = (sorted(re.findall(rf"\\{end}\{{(\w+)", text)) for end in ("begin", "end"))
        assert opened == closed or "newcommand" in text


def test_the_paper_asks_only_for_pieces_that_a_run_can_have():
    assert set(re.findall(r"\\gbtable\{(\w+)\}", TEXT)) == set(paper.TABLES)
    from geobench.inventory import FIGURES

    assert {f for f in re.findall(r"\\gbfigure\{(\w+)\}", TEXT) if not f.startswith("fig_search")} <= set(FIGURES)


def test_the_paper_quotes_no_number_by_hand():
    body = re.sub(r"\\(?:usepackage|documentclass|newcommand|DeclareRobustCommand).*|\\val\{[^}]*\}|\\ci\{[^}]*\}|%.*", "", TEXT)
    assert re.findall(r"\d+\.\d+|\d+\s*\\%", body) == []


@pytest.mark.skipif(not shutil.which("pdflatex") or not shutil.which("latexmk"), reason="needs latexmk and TeX Live")
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "missing pieces"])
def test_tex_builds_it_without_overfull_lines_and_with_the_same_bytes(run, tmp_path, whole):
    if whole:
        write_figure(axes_of(2)[0], run / "figures" / "fig_roc.pdf")
    else:
        shutil.rmtree(run)
        run.mkdir()
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(paths.ROOT / "paper" / "paper.tex", tmp_path / name)
        paper.build_paper("mine", tmp_path / name / "build")
        told = os.environ | {"SOURCE_DATE_EPOCH": "1767225600", "FORCE_SOURCE_DATE": "1"}
        order = ["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
        done = subprocess.run(order, cwd=tmp_path / name, capture_output=True, text=True, env=told)
        assert done.returncode == 0, done.stdout[-2000:]
        made.append((tmp_path / name / "paper.pdf").read_bytes())
    assert made[0] == made[1] and "Overfull" not in (tmp_path / "a" / "paper.log").read_text(errors="replace")


def test_unknown_run(run):
    with pytest.raises(GeoBenchError, match="no run `nine`"):
        paper.build_paper("nine")
