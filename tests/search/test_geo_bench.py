import json
import time

import pytest

from geobench.errors import GeoBenchError
from geobench.search.geo_bench import clean, convert, load, read_rows

TEXT = "A plain sentence about lakes and rivers in the north of the country. " * 4


def row(count=5, **other):
    sources = [{"url": f"https://s{n}.example.com/", "cleaned_text": f"<p>Source {n}.</p> {TEXT}"} for n in range(count)]
    return {"query": "how deep is the lake", "sources": sources, "sugg_idx": 2} | other


def test_html_scripts_and_control_characters_go():
    assert clean("<p>A&amp;B</p><script>x()</script>\n\n\n\nC\x00\u200b  d<br>e <5 km") == "A&B\n\nC d\ne <5 km"


def test_odd_marks_keep_their_meaning():
    assert clean("a<script>x</script >b <STYLE>no end") == "a b"
    assert clean("&#" + "9" * 5000 + ";a&#65;") == "aA" and clean("n\ud800o &#xD800;") == "no \ufffd"
    assert clean("1 < 2 <b>and</b> 3 <a") == "1 < 2 and 3 <a" and clean("e\u0301") == "\u00e9"


@pytest.mark.parametrize(
    "unit", ["<script>", "<a", "<br ", "</script  ", "<style></p", "&#", "&", "\u0316\u0301", "&#1234567890123456789", "\n\n\n", "> <"]
)
def test_a_mebibyte_of_anything_takes_seconds(unit):
    text = unit * (2**20 // len(unit))
    start = time.process_time()
    clean(text)
    assert time.process_time() - start < 10  # quadratic time is minutes


def test_a_row():
    one = convert(row(), 7)
    assert (one.name, one.target, len(one.sources)) == ("geobench_0007", 3, 5)
    assert one.sources[0].text.startswith("Source 0.\nA plain")


@pytest.mark.parametrize(
    "bad,said",
    [
        (row(4), "4 usable sources (of 4), expected 5"),
        (row() | {"query": " "}, "no query text"),
        (row() | {"query": "\x00\x1b"}, "no query text"),
        (row() | {"query": 5}, "query 1 '5': query: expected a text, got '5'"),
        (None, "geo-bench query 1: expected a row of query and sources, got 'None'"),
        ([1], "geo-bench query 1: expected a row of query and sources, got '[1]'"),
        (row() | {"sources": 5}, "expected a list of sources, got '5'"),
        (row() | {"sources": {"url": []}}, "expected a list of sources, got"),
        (row() | {"sources": ["abc"] * 5}, "'how deep is the lake', source 1: expected url, title and a text, got 'abc'"),
        (row() | {"sources": [None, *row(4)["sources"]]}, "4 usable sources (of 5), expected 5"),
        (row() | {"sources": [row()["sources"][0] | {"url": ["x"]}]}, "source 1: url: expected a text"),
        (row() | {"sources": [row()["sources"][0] | {"cleaned_text": 7}]}, "source 1: cleaned_text: expected a text, got '7'"),
        (row() | {"sugg_idx": "2"}, "sugg_idx: expected a whole number, got '2'"),
        (row() | {"sources": None}, "0 usable sources"),
        (row() | {"sources": row()["sources"][:4] + [row()["sources"][0]]}, "4 usable sources (of 5)"),
        (row() | {"sources": row()["sources"][:4] + [{"url": "https://z.example", "cleaned_text": "too short"}]}, "4 usable"),
    ],
)
def test_refused_with_a_reason(bad, said):
    good, refused = load([bad, row(), row()])
    assert said in refused[0]["reason"] and len(good) == 1 and "the same as query 2" in refused[1]["reason"]


def test_control_characters_are_taken_out_and_told():
    odd = row() | {"query": "how\x00 deep \x1b[31mis \ud800it"}
    odd["sources"][0] |= {"title": " ", "url": "https://s0.example.com/\x00"}
    odd["sources"][1] |= {"title": "a\x9b\ud800\n b"}
    odd["sources"][4]["cleaned_text"] += "\x07"
    one = convert(odd, 3)
    assert one.query == "how deep [31mis it" and one.removed == ("U+0000", "U+0007", "U+001B", "U+009B", "U+D800")
    assert one.sources[0].title == one.query and one.sources[0].url == "https://unknown.example/3/1" and one.sources[1].title == "a b"
    assert convert(row(), 3).removed == ()


def test_local_folder(tmp_path):
    (tmp_path / "test.jsonl").write_text(json.dumps(row()) + "\n")
    assert len(load(read_rows(tmp_path))[0]) == 1
    (tmp_path / "test.jsonl").write_text(json.dumps(row(query="a\u2028b"), ensure_ascii=False) + "\nnull\n", "utf-8")
    assert [r and r["query"] for r in read_rows(tmp_path)] == ["a\u2028b", None]
    (tmp_path / "test.jsonl").write_text(json.dumps(row(query="a\ud800b")))
    assert load(read_rows(tmp_path))[0][0].query == "ab"  # one odd character costs no corpus
    (tmp_path / "test.jsonl").write_text("{}\n{")
    with pytest.raises(GeoBenchError, match="test.jsonl:2: expected a JSON object, got '{'"):
        read_rows(tmp_path)
    (tmp_path / "test.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(GeoBenchError, match="test.jsonl: not a readable UTF-8 file"):
        read_rows(tmp_path)
    (tmp_path / "test.jsonl").unlink()
    with pytest.raises(GeoBenchError, match="no .test"):
        read_rows(tmp_path)


@pytest.mark.parametrize(
    "name,content,said",
    [
        ("test.json", b'{"rows": []}', "test.json: expected a list of rows, got .*rows"),
        ("test.json", b"[" * 5000, "test.json: not a readable json file .'nested too deeply"),
        ("test.json", b"\xff\xfe", "test.json: not a readable json file"),
        ("test.parquet", b"xx", "test.parquet: not a readable parquet file"),
    ],
)
def test_files_with_faults(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(GeoBenchError, match=said):
        read_rows(tmp_path)
