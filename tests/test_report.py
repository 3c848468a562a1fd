import base64
import json
import re

import pandas as pd

from geobench.report import build_report, parts
from geobench.tables import write_table


def body(html):
    """The page without its own script."""
    return re.sub(r"<script>\n\"use strict\".*?</script>", "", html, flags=re.DOTALL)


def test_report_shows_tables_as_text(tmp_path):
    write_table(pd.DataFrame({"x": ["<script>alert(1)</script>"], "n": [0.12345]}), tmp_path / "tables", "main", "A <b> caption")
    (tmp_path / "status.json").write_text('[{"notebook": "01_data", "state": "ran", "seconds": 2.0}]')
    html = body(build_report(tmp_path).read_text())
    assert "<script>" not in html and "&lt;script&gt;alert(1)" in html and ">0.1235<" in html and 'title="0.12345"' in html
    assert "A &lt;b&gt; caption" in html and "../notebooks/01_data.html" in html and "http:" not in html and "https:" not in html


def test_report_of_an_empty_run(tmp_path):
    html = build_report(tmp_path).read_text()
    assert "None yet." in html and "No findings yet" in html


def test_figures_are_inside_the_page_and_downloads_beside_it(tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "fig_roc.svg").write_text("<svg/>")
    html = build_report(tmp_path).read_text()
    assert "data:image/svg+xml;base64," + base64.b64encode(b"<svg/>").decode() in html and 'href="../figures/fig_roc.pdf"' in html
    assert 'href="../notebooks/08_figures.html"' in html
    assert not re.findall(r'(?:src|href)="(?!data:|#|\.\./)', html)  # nothing from outside


def test_examples_mark_added_and_removed_words(tmp_path):
    write_table(pd.DataFrame({"variant": ["v"], "item": ["i"], "text": ["a [-b-] {+<c>+}"]}), tmp_path / "tables", "table_14_examples", "")
    html = build_report(tmp_path).read_text()
    assert "<del>b</del>" in html and "<ins>&lt;c&gt;</ins>" in html


def test_parts_of_a_text_cut_inside_a_mark():
    assert parts("a [-b-] c {+d e ... (7 more words)") == [("", "a"), ("-", "b"), ("", "c"), ("+", "d e ... (7 more words)")]


def test_report_says_which_records_feed_a_table(tmp_path):
    write_table(pd.DataFrame({"x": [1]}), tmp_path / "tables", "table_05_datasets", "")
    sources = {"item": ["table_05_datasets"], "records": ["edits/*.jsonl"], "files": [1], "lines": [9], "sha256": ["abc"]}
    write_table(pd.DataFrame(sources), tmp_path / "tables", "table_13_sources", "")
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "01_data.json").write_text(json.dumps({"seconds": 1.0}))
    html = build_report(tmp_path).read_text()
    assert "<td>01_data</td><td>kept</td>" in html  # the last call did not choose it
    made = 'Made by <a href="../notebooks/08_figures.html">08_figures</a>.\n'
    assert f"{made}From edits/*.jsonl (9 lines, sha256 abc).</p>" in html and f"{made}</p>" in html  # the other's records are not told
    assert "&#34;seconds&#34;: 1.0" in html
