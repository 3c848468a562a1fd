"""`python -m geobench papers`: docs/papers.md, which says what the papers show and where this project answers it."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from geobench import paths
from geobench.errors import GeoBenchError, faults
from geobench.yaml_values import parse_yaml

FILE, PAGE = paths.ROOT / "data" / "published" / "map.yaml", paths.ROOT / "docs" / "papers.md"
HEAD = """# What the papers show, and where it is answered

Made by `python -m geobench papers` from `data/published/map.yaml`. Tables are in `results/<run>/tables/`, figures in
`results/<run>/figures/`.
"""


class Row(BaseModel):
    """One table, figure or claim: `answer` is the table or figure of a run, None where there is none yet."""

    model_config = ConfigDict(extra="forbid")
    paper: str
    item: str
    answer: str | None
    notebook: str
    profile: str
    differs: str


def read_map(file: Path = FILE) -> list[Row]:
    try:
        return TypeAdapter(list[Row]).validate_python(parse_yaml(file.read_bytes(), file.name))
    except ValidationError as error:
        raise GeoBenchError(f"{file.name}: {faults(error.errors())}") from None


def page(rows: list[Row]) -> str:
    """The page in Markdown: a table per paper."""
    lines = [HEAD]
    for paper in dict.fromkeys(row.paper for row in rows):
        lines += [f"## {paper}", "", "| what it shows | answer | notebook | profile | where ours differs |", "|---|---|---|---|---|"]
        for row in rows:
            if row.paper == paper:
                answer, differs = f"`{row.answer}`" if row.answer else "none yet", row.differs or "no difference known"
                cells = (row.item, answer, row.notebook, row.profile, differs)
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def write_page() -> str:
    PAGE.write_text(page(read_map()), encoding="utf-8")
    return f"{PAGE.relative_to(paths.ROOT)}: {len(read_map())} rows"
