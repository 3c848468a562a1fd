import json

import pytest

from geobench.errors import GeoBenchError
from geobench.search.geo_bench import clean, convert, load, read_rows

TEXT = "A plain sentence about lakes and rivers in the north of the country. " * 4


def row(count=5, **other):
    sources = [{"url": f"https://s{n}.example.com/", "cleaned_text": f"<p>Source {n}.</p> {TEXT}"} for n in range(count)]
    return {"query": "how deep is the lake", "sources": sources, "sugg_idx": 2} | other


def test_html_scripts_and_control_characters_go():
    assert clean("<p>A&amp;B</p><script>x()</script>\n\n\n\nC\x00\u200b  d<br>e <5 km") == "A&B\n\nC d\ne <5 km"


def test_a_row():
    one = convert(row(), 7)
    assert (one.name, one.target, len(one.sources)) == ("geobench_0007", 3, 5)
    assert one.sources[0].text.startswith("Source 0.\nA plain")


@pytest.mark.parametrize(
    "bad,said",
    [
        (row(4), "4 usable sources (of 4), expected 5"),
        (row() | {"query": " "}, "no query text"),
        (row() | {"sources": None}, "0 usable sources"),
        (row() | {"sources": row()["sources"][:4] + [row()["sources"][0]]}, "4 usable sources (of 5)"),
        (row() | {"sources": row()["sources"][:4] + [{"url": "https://z.example", "cleaned_text": "too short"}]}, "4 usable"),
    ],
)
def test_refused_with_a_reason(bad, said):
    good, refused = load([bad, row(), row()])
    assert said in refused[0]["reason"] and len(good) == 1 and "the same as query 2" in refused[1]["reason"]


def test_local_folder(tmp_path):
    (tmp_path / "test.jsonl").write_text(json.dumps(row()) + "\n")
    assert len(load(read_rows(tmp_path))[0]) == 1
    (tmp_path / "test.jsonl").write_text("{")
    with pytest.raises(GeoBenchError, match="test.jsonl: not JSON"):
        read_rows(tmp_path)
    (tmp_path / "test.jsonl").unlink()
    with pytest.raises(GeoBenchError, match="no .test"):
        read_rows(tmp_path)
