import pytest
from jinja2 import UndefinedError

from geobench.pages import cells, render


def test_cells_shorten_long_decimals_only():
    assert cells(["0.123456", "12", "a <b>", "-1.5e-05", ""]) == [
        ("0.123456", "0.1235", True), ("12", "12", True), ("a <b>", "a <b>", False), ("-1.5e-05", "-1.5e-05", True), ("", "", False),
    ]  # fmt: skip


def test_a_page_makes_no_request_and_escapes():
    page = render("leaderboard", ranker="<r>", boards=[("control", ["a"], [cells(["<x>"])])], protocol="{}", runs=["r"])
    assert "default-src 'none'" in page and "&lt;r&gt;" in page and "<x>" not in page and "http:" not in page
    assert page.endswith("</html>\n")


def test_a_missing_value_is_an_error():
    with pytest.raises(UndefinedError):
        render("leaderboard", boards=[], protocol="", runs=[])
