"""Values and text from data as LaTeX."""

from geobench import latex


def test_text_from_data_is_harmless():
    assert latex.latex("a_b\\c {x} é 漢 \x1b'") == r"a\_b\textbackslash{}c \{x\} é \texttt{U+6F22} \texttt{U+001B}\textquotesingle{}"
    assert latex.latex("--run") == "-{}-run" and latex.latex("--") == "--"


def test_values_have_two_decimals_or_digits_and_a_true_minus():
    assert latex.shown(-0.5) == "$-$0.50" and latex.shown(float("nan")) == "--"
    assert latex.shown(1507.0) == "1507" and latex.shown(0.0004) == "4.0e-04" and latex.shown(3) == "3"


def test_long_words_may_break_and_lines_stay_lines():
    assert latex.breakable("0123456789abcdef") == "0123456789abcdef"
    assert latex.breakable("0123456789abcdefXY") == r"01234567\allowbreak{}89abcdef\allowbreak{}XY"
    assert latex.breakable("a b\nc_d\n") == r"a b\newline c\_d"


def test_a_table_over_pages_repeats_its_head():
    lines = latex.over_pages(["setting", "value", "of"], [["orders", 3, "50 %"]])
    assert r"setting & value & of \\" in lines and r"orders & 3 & 50 \% \\" in lines and r"\midrule\endhead" in lines
