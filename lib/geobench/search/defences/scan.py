"""`python -m geobench guard FILE`: what a trained guard says about a text file, chunk by chunk."""

import math
import sys
from pathlib import Path

from geobench.errors import GeoBenchError
from geobench.search.defences.guard import load_guard


def scan(file: str, model: str, tau: float | None = None) -> str:
    """One line per chunk (characters, score, nearest category, keep or BLOCK) and a summary; GeoBenchError for text that cannot be read."""
    text = _read(file)
    guard = load_guard(Path(model))
    if tau is not None:
        if not math.isfinite(tau):
            raise GeoBenchError(f"--tau: expected a number, got {tau}")
        guard.tau = tau
    rows = guard.check(text)
    lines = [
        f"chunk {r['chunk']:>3}  characters {r['start']:>6}-{r['end']:<6}  score {r['score']:.4f}  {r['category']:<22}  "
        + ("BLOCK" if r["blocked"] else "keep")
        for r in rows
    ]
    blocked = sum(r["blocked"] for r in rows)
    return "\n".join([*lines, f"{blocked} of {len(rows)} chunks blocked at tau {guard.tau:.4f}; the guard reads style, not truth"])


def _read(file: str) -> str:
    try:
        text = (sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()).decode("utf-8-sig")
    except OSError as error:
        raise GeoBenchError(f"{file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise GeoBenchError(f"{file}: expected UTF-8 text") from error
    if not text.strip():
        raise GeoBenchError(f"{file}: the file is empty; expected text to scan")
    return text
