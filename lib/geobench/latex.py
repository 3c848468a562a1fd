"""Values and text from data as LaTeX: escaped, with a true minus sign, breakable where they are long."""

from geobench.tables import cell, escape_latex

LONG, PART = 16, 8  # letters from which a word may break, and between breaks


def latex(text: object) -> str:
    """Text from data for LaTeX: escaped, and letters that the font lacks as their code point."""
    line = escape_latex(text)
    return line if line == "--" else line.replace("--", "-{}-").replace("'", r"\textquotesingle{}")


def shown(value: object) -> str:
    """A value as prose and tables show it: two decimals (none from 100 on; two digits where they say nothing), a true minus sign."""
    text = cell(value, 0 if isinstance(value, float) and abs(value) >= 100 else 2)
    if isinstance(value, float) and float(value) and text in ("0.00", "-0.00"):
        text = f"{value:.1e}"
    return "$-$" + latex(text[1:]) if isinstance(value, (int, float)) and text.startswith("-") and text != "--" else latex(text)


def breakable(value: object) -> str:
    """Text in which a long unbroken run (a digest, a path) may break; lines stay lines."""
    return r"\newline ".join(" ".join(map(_word, line.split())) for line in str(value).strip().splitlines())


def _word(word: str) -> str:
    return latex(word) if len(word) <= LONG else r"\allowbreak{}".join(latex(word[n : n + PART]) for n in range(0, len(word), PART))


def over_pages(head: list[str], rows: list[list]) -> list[str]:
    """Lines of a small table of three ragged columns that may run over pages."""
    columns = "".join(rf">{{\raggedright\arraybackslash}}p{{{w}\linewidth}}" for w in (0.2, 0.42, 0.3))
    body = [" & ".join(map(breakable, row)) + r" \\" for row in rows]
    top = [rf"{{\scriptsize\begin{{longtable}}{{{columns}}}", r"\toprule", " & ".join(map(latex, head)) + r" \\", r"\midrule\endhead"]
    return [*top, *body, r"\bottomrule", r"\end{longtable}}"]
