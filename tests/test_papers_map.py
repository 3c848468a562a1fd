"""The map of the papers: every row names a table, a notebook and a profile that exist, and the page is what the command makes."""

import json

import pytest

from geobench import papers_map, paths
from geobench.errors import GeoBenchError
from geobench.params import profiles


def test_every_row_names_what_exists():
    sources = {file.stem: json.loads(file.read_text()) for file in paths.NOTEBOOKS.glob("*.ipynb")}
    code = {name: "".join("".join(cell["source"]) for cell in made["cells"]) for name, made in sources.items()}
    for row in papers_map.read_map():
        assert row.notebook in code and row.profile in profiles(), row.item
        asked = row.answer and ("v1_" if row.answer.startswith("v1_") else row.answer)  # one file per data set
        assert not asked or asked in code[row.notebook] or (asked.startswith("fig_") and "FIGURES" in code[row.notebook]), row.item
    assert len({row.item for row in papers_map.read_map()}) == len(papers_map.read_map()) > 30


def test_the_page_is_made_by_the_command():
    assert papers_map.PAGE.read_text(encoding="utf-8") == papers_map.page(papers_map.read_map())


def test_a_broken_map_is_one_line(tmp_path):
    (tmp_path / "map.yaml").write_text("- {paper: x, item: y}\n")
    with pytest.raises(GeoBenchError, match=r"map.yaml: 0.answer"):
        papers_map.read_map(tmp_path / "map.yaml")
