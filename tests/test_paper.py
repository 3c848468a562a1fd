import re

import pandas as pd
import pytest

from geobench import paper, paths
from geobench.errors import GeoBenchError
from geobench.records import Records
from geobench.tables import write_table

TEXT = (paths.ROOT / "paper" / "paper.tex").read_text()


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    folder = tmp_path / "mine"
    main = pd.DataFrame({
        "variant": ["injection", "padding"], "threat": "control", "nrg": [0.5, -0.25], "nrg_lo": [0.25, float("nan")],
        "nrg_hi": [0.75, float("nan")], "kvr": [1.0, 0.0], "n_targets": 4, "n_lists": 4, "n_datasets": 2,
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


def test_tables_are_narrow_and_name_their_notebook(run, tmp_path):
    made = paper.build_paper("mine", tmp_path / "build")
    text = (made / "table_main.tex").read_text()
    assert r"\caption{50 \% \& more Made by notebook \texttt{07\_statistics}.}\label{tab:table_02_main}" in text
    assert r"injection & 0.50 [0.25, 0.75] & 1.00 \\" in text  # columns that the run lacks are left out
    assert r"padding & $-$0.25 & 0.00 \\" in text  # no interval
    assert "build/fig_roc.pdf" in (made / "fig_roc.tex").read_text() and r"\gap{settings}" in (made / "appendix.tex").read_text()
    assert not (made / "table_search.tex").exists()  # paper.tex shows a gap


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


def test_text_from_data_is_harmless():
    assert paper.latex("a_b\\c {x} é 漢 \x1b'") == r"a\_b\textbackslash{}c \{x\} é U+6F22 U+001B\textquotesingle{}"
    assert paper.latex("--run") == "-{}-run" and paper.latex("--") == "--"
    assert paper.shown(-0.5) == "$-$0.50" and paper.shown(float("nan")) == "--"
    assert paper.shown(1507.0) == "1507" and paper.shown(0.0004) == "4.0e-04" and paper.shown(3) == "3"


def test_the_paper_asks_only_for_pieces_that_a_run_can_have():
    assert set(re.findall(r"\\gbtable\{(\w+)\}", TEXT)) == set(paper.TABLES)
    from geobench.inventory import FIGURES

    assert {f for f in re.findall(r"\\gbfigure\{(\w+)\}", TEXT) if not f.startswith("fig_search")} <= set(FIGURES)


def test_the_paper_quotes_no_number_by_hand():
    body = re.sub(r"\\(?:usepackage|documentclass|newcommand|DeclareRobustCommand).*|\\val\{[^}]*\}|\\ci\{[^}]*\}|%.*", "", TEXT)
    assert re.findall(r"\d+\.\d+|\d+\s*\\%", body) == []


def test_the_appendix_holds_the_lexicon_of_the_records(run):
    with Records(run / "scores" / "keyword.jsonl", {"detector": {"words": ["best"], "phrases": ["#1 choice", "top_rated"]}}):
        pass
    settings = {"records": ["ranks"], "setting": ["orders"], "value": ["3"], "of": ["bm25"]}
    write_table(pd.DataFrame(settings), run / "tables", "table_12_settings", "")
    text = paper.appendix(run)
    assert "Words: best." in text and r"Phrases: \#1 choice, top\_rated." in text and r"orders & 3 & bm25 \\" in text


def test_unknown_run(run):
    with pytest.raises(GeoBenchError, match="no run `nine`"):
        paper.build_paper("nine")
