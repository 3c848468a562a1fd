"""`python -m geobench`: each command reaches its function; a wrong name is one line and status 2."""

import pytest

from geobench import paths
from geobench.__main__ import main


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


UNKNOWN = [["paper", "--run", "smok"], ["report", "--run", "smok"], ["leaderboard", "smok"], ["export", "--run", "smok", "--to", "x"]]


@pytest.mark.parametrize("line", UNKNOWN)
def test_an_unknown_run_is_one_line_and_status_2(line, results, capsys):
    (results / "smoke" / "tables").mkdir(parents=True)
    (results / "smoke" / "catalog.jsonl").touch()
    assert main(line) == 2
    said = capsys.readouterr().err
    assert "no run `smok`" in said and "Did you mean `smoke`" in said and said.count("\n") == 1


def test_report_is_built_anew(results, capsys):
    (results / "mine").mkdir(parents=True)
    assert main(["report", "--run", "mine"]) == 0
    assert (results / "mine" / "report" / "index.html").exists() and "index.html" in capsys.readouterr().out


def test_lists_notebooks_and_profiles(capsys):
    assert main(["run", "--list"]) == 0
    said = capsys.readouterr().out
    assert "05_ranking" in said and "smoke" in said
