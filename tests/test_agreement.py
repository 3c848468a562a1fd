"""The agreement table, on ranks written by hand."""

from types import SimpleNamespace

import pytest

from geobench import agreement


def table(monkeypatch, name, *clean):
    monkeypatch.setattr(agreement, "read_ranks", lambda work, ranker: (list(clean), []))
    return agreement.ranker_table(SimpleNamespace(), [name]).iloc[0]


def test_a_ranker_that_copies_the_order_shown(monkeypatch):
    record = {"orders": [[0, 1, 2], [2, 1, 0]], "ranks": [[1, 2, 3], [3, 2, 1]], "status": ["ok", "missing"]}
    row = table(monkeypatch, "smollm2-135m:generate", record)
    assert row.kendalls_w == pytest.approx(0) and row.copies_input == pytest.approx(1) and row.rankings == 2
    assert row.parsed_ok == 0.5 and row.missing_or_cut == 0.5


def test_a_ranker_that_reads_content(monkeypatch):
    record = {"orders": [[0, 1, 2], [2, 1, 0]], "ranks": [[2, 1, 3], [2, 1, 3]], "status": None}
    row = table(monkeypatch, "smollm2-135m:attention", record)
    assert row.kendalls_w == pytest.approx(1) and row.copies_input == pytest.approx(0)
    assert row[["parsed_ok", "missing_or_cut"]].isna().all()


def test_order_free_rankers_have_no_agreement(monkeypatch):
    row = table(monkeypatch, "bm25", {"orders": [[0, 1]], "ranks": [[1, 2]], "status": None})
    assert row[["kendalls_w", "copies_input"]].isna().all() and row.rankings == 1
