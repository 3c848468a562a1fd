"""Loader of the public corpus: GEO-bench (Aggarwal et al. 2024; Hugging Face `GEO-Optim/geo-bench`), test queries with five web sources.

Rows hold `query`, `sources` (with `url` and a text under one of several names) and `sugg_idx`, the suggested target. Texts are cleaned
and deduplicated; a query that lacks five usable sources is refused with a reason, never repaired. The data are not redistributed here.
"""

import html
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

from geobench.errors import GeoBenchError, came
from geobench.json_values import json_lines, parse_json, require_kinds
from geobench.lists import CONTROL
from geobench.search.corpus import SOURCES, Source

REPOSITORY = "GEO-Optim/geo-bench"
TEXTS = ("cleaned_text", "text", "raw_text", "raw_source")
LEAST_WORDS = 30
MARKS = 30  # combining marks in a row that are kept, as in Unicode's stream-safe text: composing more takes quadratic time


@dataclass(frozen=True)
class Query:
    """A query with its five cleaned sources and the 1-based target; `removed`: the control characters that cleaning took out."""

    name: str
    query: str
    sources: tuple[Source, ...]
    target: int
    removed: tuple[str, ...] = ()


def clean(text: str) -> str:
    """Plain text: no markup, entities, scripts, control characters or surrogates; at most one empty line in a row.

    A script that does not end goes to the text's end, as in a browser. The time is linear in the length, whatever the text.
    """
    text = re.sub(r"<(script|style|noscript)\b.*?(?:</\1\s*>|\Z)", " ", text, flags=re.DOTALL | re.IGNORECASE)
    marked, end, rest = text.rpartition(">")  # behind the last one no tag ends, and none is looked for
    marked = re.sub(r"<(?:br|/p|/div|/li|/h\d|/tr)\b[^>]*>", "\n", marked + end, flags=re.IGNORECASE)
    text = re.sub(r"<[a-zA-Z/!][^>]*>", " ", marked) + rest
    text = html.unescape(re.sub(r"&#[0-9]{20,};?", " ", text))  # Python reads no number of thousands of digits
    marks = groupby(text, lambda c: unicodedata.combining(c) > 0)
    text = "".join(c for on, run in marks for c in islice(run, MARKS if on else None))
    text = "".join(c for c in unicodedata.normalize("NFC", text) if c in "\n\t" or unicodedata.category(c)[0] != "C")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _line(text: str) -> str:
    return " ".join(CONTROL.sub("", text).split())


def convert(row: dict, number: int) -> Query:
    """One row as a Query; GeoBenchError with the reason where it lacks what a test needs, or a field is of another kind."""
    if not isinstance(row, dict):
        raise GeoBenchError(f"geo-bench query {number}: expected a row of query and sources, got {came(row)}")
    where = f"geo-bench query {number} {came(row.get('query') or '', 60)}"
    require_kinds(row, {"query": str, "sugg_idx": int | float}, where)
    query, sources = _line(row.get("query") or ""), row.get("sources") or []
    if not query:
        raise GeoBenchError(f"{where}: no query text")
    if not isinstance(sources, list):
        raise GeoBenchError(f"{where}: expected a list of sources, got {came(sources)}")
    kept, seen = [], set()
    for place, source in enumerate(sources):
        title, url, text = _fields(source or {}, f"{where}, source {place + 1}")
        plain = clean(text)
        key = " ".join(plain.lower().split())
        if len(plain.split()) >= LEAST_WORDS and key not in seen and (not url or url not in {s.url for _, s, _ in kept}):
            seen.add(key)
            raw = title + url + text
            url = url if re.fullmatch(r"https?://\S+", url) and url.isprintable() else f"https://unknown.example/{number}/{place + 1}"
            kept.append((place, Source(url=url, title=_line(title)[:200].strip() or query[:200], text=plain), raw))
    if len(kept) < SOURCES:
        raise GeoBenchError(f"{where}: {len(kept)} usable sources (of {len(sources)}), expected {SOURCES}")
    kept = kept[:SOURCES]
    suggested = [n for n, (place, *_) in enumerate(kept, 1) if place == row.get("sugg_idx")]
    removed = {f"U+{ord(c):04X}" for part in (row["query"], *(raw for *_, raw in kept)) for c in CONTROL.findall(part)}
    sources = tuple(source for _, source, _ in kept)
    return Query(f"geobench_{number:04d}", query, sources, suggested[0] if suggested else 1, tuple(sorted(removed)))


def _fields(source: dict, where: str) -> tuple[str, str, str]:
    """Title, address and raw text of a source, "" where it has none (null is an empty source)."""
    if not isinstance(source, dict):
        raise GeoBenchError(f"{where}: expected url, title and a text, got {came(source)}")
    require_kinds(source, dict.fromkeys(("title", "url", *TEXTS), str), where)
    return source.get("title") or "", source.get("url") or "", next((source[k] for k in TEXTS if source.get(k)), "")


def load(rows: Iterable) -> tuple[list[Query], list[dict]]:
    """(usable queries, refused ones as {"row", "reason"}); repeated queries are refused as well."""
    good, refused, seen = [], [], {}
    for number, row in enumerate(rows, 1):
        try:
            one = convert(row, number)
            if one.query.lower() in seen:
                raise GeoBenchError(f"geo-bench query {number} {came(one.query, 60)}: the same as query {seen[one.query.lower()]}")
        except GeoBenchError as error:
            refused.append({"row": number, "reason": str(error)})
            continue
        seen[one.query.lower()] = number
        good.append(one)
    return good, refused


def read_rows(folder: str | Path | None = None) -> list:
    """Rows of the test split from a local folder (*test*.jsonl, .json or .parquet), or from the hub where none is given."""
    folder = Path(folder) if folder else _download()
    files = sorted(f for kind in ("jsonl", "json", "parquet") for f in folder.rglob(f"*test*.{kind}"))
    if not files:
        raise GeoBenchError(f"geo-bench: no *test*.jsonl, .json or .parquet in {folder}")
    return [row for file in files for row in _rows(file)]


def _rows(file: Path) -> list:
    if file.suffix == ".jsonl":
        return [row for _, row in json_lines(file, surrogates=True)]
    try:
        if file.suffix == ".parquet":
            import pandas as pd

            text = pd.read_parquet(file).to_json(orient="records")
        else:
            text = file.read_text("utf-8-sig")
        rows = parse_json(text, surrogates=True)
    except Exception as error:  # JSON: ValueError; parquet: whatever its engine raises, or that there is none
        raise GeoBenchError(f"{file}: not a readable {file.suffix[1:]} file ({came(error)})") from error
    if not isinstance(rows, list):
        raise GeoBenchError(f"{file}: expected a list of rows, got {came(rows)}")
    return rows


def _download() -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(REPOSITORY, repo_type="dataset", allow_patterns=["*test*"]))
    except Exception as error:
        raise GeoBenchError(
            f"geo-bench: cannot be downloaded ({came(error, 120)}); when online run `hf download {REPOSITORY} --repo-type dataset "
            "--local-dir FOLDER` and set -p search_folder=FOLDER"
        ) from error
