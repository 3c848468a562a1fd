import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from geobench.errors import GeoBenchError
from geobench.tables import cell, escape_latex, read_table, write_table


def test_hostile_text_is_escaped_everywhere(tmp_path):
    frame = pd.DataFrame({"a|b": [r"\input{x} 5% & <script>", "two\nlines"], "n": [0.12345, float("nan")]})
    write_table(frame, tmp_path, "t", "100 % & more")
    tex, md = (tmp_path / "t.tex").read_text(), (tmp_path / "t.md").read_text()
    assert r"\textbackslash{}input\{x\} 5\% \& \textless{}script\textgreater{}" in tex and r"\caption{100 \% \& more}" in tex
    assert "a\\|b" in md and "<script>" not in md and "| two lines | -- |" in md
    assert json.loads((tmp_path / "t.json").read_text()) == {"caption": "100 % & more"}
    assert "0.12345" in (tmp_path / "t.csv").read_text()


def test_same_frame_same_bytes(tmp_path):
    frame = pd.DataFrame({"x": [1 / 3, 2.0], "k": [1, 2]})
    for folder in ("a", "b"):
        write_table(frame, tmp_path / folder, "t", "c")
    assert [f.read_bytes() for f in sorted((tmp_path / "a").iterdir())] == [f.read_bytes() for f in sorted((tmp_path / "b").iterdir())]


def test_a_frame_without_rows_is_no_table_and_an_earlier_one_goes(tmp_path):
    frame = pd.DataFrame({"x": [1.0]})
    write_table(frame, tmp_path, "t", "c")
    write_table(frame, tmp_path, "other", "c")
    write_table(frame.head(0), tmp_path, "t", "c")
    write_table(pd.DataFrame(), tmp_path / "new", "t", "c")
    assert sorted(f.name for f in tmp_path.rglob("*.*")) == ["other.csv", "other.json", "other.md", "other.tex"]


def test_cells():
    assert [cell(v) for v in (0.5, 3, None, "x", pd.NA, np.float32(0.5), -0.0001)] == ["0.500", "3", "--", "x", "--", "0.500", "0.000"]
    assert escape_latex("a_b^c~") == r"a\_b\textasciicircum{}c\textasciitilde{}"
    assert escape_latex("[2pt]") == "{[}2pt{]}"


HOSTILE = [
    "\\input{x} \\write18{ls} ^^41 %", "[1cm]", "*", "café Łódź “x” … €", "日本 😀 Ω ≤ →", "zero\u200bwidth \u202e rtl", "\x07\x00\x1b",
    "\u0301 alone", "".join(map(chr, range(0xA1, 0x180))),
]  # fmt: skip


def test_letters_that_the_fonts_lack_are_shown_by_code():
    assert escape_latex("日 \u200b\x07") == r"\texttt{U+65E5} \texttt{U+200B}\texttt{U+0007}"
    assert escape_latex("e\u0301 ≤ x\u00a0y") == r"é \ensuremath{\le} x y"


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_hostile_text_compiles(tmp_path):
    write_table(pd.DataFrame({"a_b%": HOSTILE, "*": range(len(HOSTILE))}), tmp_path, "hostile", "Caption 日 {% & _")
    head = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs}\begin{document}\input{hostile.tex}\end{document}"
    (tmp_path / "paper.tex").write_text(head)
    made = subprocess.run(["pdflatex", "-halt-on-error", "-draftmode", "paper.tex"], cwd=tmp_path, capture_output=True, timeout=120)
    assert made.returncode == 0, made.stdout.decode("latin-1")[-1500:]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x01", b'a,b\n1,2,3\n4,5,6,7\n"'])
def test_a_damaged_table_is_named(tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(GeoBenchError, match="t.csv: expected a table as its notebook writes it"):
        read_table(tmp_path / "t.csv")
