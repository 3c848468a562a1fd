"""Loader of the public corpus: GEO-bench (Aggarwal et al. 2024; Hugging Face `GEO-Optim/geo-bench`), test queries with five web sources.

Rows hold `query`, `sources` (with `url` and a text under one of several names) and `sugg_idx`, the suggested target. Texts are cleaned
and deduplicated; a query that lacks five usable sources is refused with a reason, never repaired. The data are not redistributed here.
"""

import html
import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from geobench.errors import GeoBenchError, came
from geobench.search.corpus import SOURCES, Source

REPOSITORY = "GEO-Optim/geo-bench"
TEXTS = ("cleaned_text", "text", "raw_text", "raw_source")
LEAST_WORDS = 30


@dataclass(frozen=True)
class Query:
    """A query with its five cleaned sources and the 1-based target."""

    name: str
    query: str
    sources: tuple[Source, ...]
    target: int


def clean(text: str) -> str:
    """Plain text: no markup, entities, scripts or control characters; at most one empty line in a row."""
    text = re.sub(r"<(script|style|noscript)\b.*?</\1\s*>", " ", str(text), flags=re.DOTALL | re.IGNORECASE)
    text = re.sub(r"<(?:br|/p|/div|/li|/h\d|/tr)\b[^>]*>", "\n", text, flags=re.IGNORECASE)
    text = html.unescape(re.sub(r"<[a-zA-Z/!][^>]*>", " ", text))
    text = "".join(c for c in unicodedata.normalize("NFC", text) if c in "\n\t" or unicodedata.category(c)[0] != "C")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def convert(row: dict, number: int) -> Query:
    """One row as a Query; GeoBenchError with the reason where it lacks what a test needs."""
    query = " ".join(str(row.get("query") or "").split())
    where = f"geo-bench query {number} {came(query, 60)}"
    if not query:
        raise GeoBenchError(f"{where}: no query text")
    kept, seen = [], set()
    for place, source in enumerate(row.get("sources") or ()):
        text = clean(next((source[k] for k in TEXTS if source.get(k)), ""))
        key = " ".join(text.lower().split())
        if len(text.split()) >= LEAST_WORDS and key not in seen and source.get("url") not in {s.url for _, s in kept}:
            seen.add(key)
            url = str(source.get("url") or "")
            url = url if re.match(r"https?://\S+$", url) else f"https://unknown.example/{number}/{place + 1}"
            kept.append((place, Source(url=url, title=str(source.get("title") or query)[:200], text=text)))
    if len(kept) < SOURCES:
        raise GeoBenchError(f"{where}: {len(kept)} usable sources (of {len(row.get('sources') or ())}), expected {SOURCES}")
    kept = kept[:SOURCES]
    suggested = [n for n, (place, _) in enumerate(kept, 1) if place == row.get("sugg_idx")]
    return Query(f"geobench_{number:04d}", query, tuple(s for _, s in kept), suggested[0] if suggested else 1)


def load(rows: Iterable[dict]) -> tuple[list[Query], list[dict]]:
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


def read_rows(folder: str | Path | None = None) -> list[dict]:
    """Rows of the test split from a local folder (*test*.jsonl, .json or .parquet), or from the hub where none is given."""
    folder = Path(folder) if folder else _download()
    files = sorted(f for kind in ("jsonl", "json", "parquet") for f in folder.rglob(f"*test*.{kind}"))
    if not files:
        raise GeoBenchError(f"geo-bench: no *test*.jsonl, .json or .parquet in {folder}")
    return [row for file in files for row in _rows(file)]


def _rows(file: Path) -> list[dict]:
    if file.suffix == ".parquet":
        import pandas as pd

        return json.loads(pd.read_parquet(file).to_json(orient="records"))
    text = file.read_text("utf-8")
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()] if file.suffix == ".jsonl" else json.loads(text)
    except ValueError as error:
        raise GeoBenchError(f"{file}: not JSON ({error})") from error


def _download() -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(REPOSITORY, repo_type="dataset", allow_patterns=["*test*"]))
    except Exception as error:
        raise GeoBenchError(
            f"geo-bench: cannot be downloaded ({came(error, 120)}); when online run `hf download {REPOSITORY} --repo-type dataset "
            "--local-dir FOLDER` and set -p search_folder=FOLDER"
        ) from error
