"""Notebooks 11 and 12 on two queries with the real embedded models."""

import json

import pytest

from geobench import paths, runner

SMALL = {
    "search_instances": 2, "search_rewrite_queries": 0, "search_victims": ["minilm:extractive", "smollm2-135m:likelihood"],
    "search_judge": None, "search_resamples": 100,
}  # fmt: skip


@pytest.mark.slow
def test_the_search_notebooks_run_and_are_reused(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    monkeypatch.setenv("GEOBENCH_RESULTS", str(tmp_path))
    rows = runner.execute(runner.plan("smoke", SMALL, "s", ["11", "12"]), say=lambda _: None)
    assert [r["state"] for r in rows] == ["ran", "ran"]
    for table in ("search_corpus", "search_gate", "search_main", "search_paired", "search_contested", "search_agreement"):
        assert (tmp_path / f"s/tables/{table}.csv").exists(), table
    assert "fig_search_asr" in (tmp_path / "s/report/index.html").read_text()
    again = runner.execute(runner.plan("smoke", SMALL, "s", ["11", "12"]), say=lambda _: None)
    assert {r["state"] for r in again} == {"reused"}
    units = [json.loads(line) for line in (tmp_path / "s/search/contexts.jsonl").read_text().splitlines()[1:]]
    assert len(units) == 6
