import pandas as pd

from geobench.report import build_report
from geobench.tables import write_table


def test_report_shows_tables_as_text(tmp_path):
    write_table(pd.DataFrame({"x": ["<script>alert(1)</script>"], "n": [0.12345]}), tmp_path / "tables", "main", "A <b> caption")
    (tmp_path / "status.json").write_text('[{"notebook": "01_data", "state": "ran", "seconds": 2.0}]')
    html = build_report(tmp_path).read_text()
    assert "<script>" not in html and "&lt;script&gt;alert(1)" in html and "0.123" in html
    assert "A &lt;b&gt; caption" in html and "../notebooks/01_data.html" in html and "http" not in html


def test_report_of_an_empty_run(tmp_path):
    assert "None yet." in build_report(tmp_path).read_text()
