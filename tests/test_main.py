"""`python -m geobench`: each command reaches its function; a wrong name is one line and status 2."""

import signal

import pytest

from geobench import paths
from geobench.__main__ import main
from geobench.errors import NotebooksFailed


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


@pytest.mark.parametrize("command", [["run", "--dry-run"], ["report"], ["paper"], ["compare"], ["export", "--to", "x"]])
@pytest.mark.parametrize("run", ["", "..", "a/b"])
def test_what_is_no_folder_name_is_no_run(command, run, results, capsys):
    (results / "tables").mkdir(parents=True)
    assert main([*command, "--run", run]) == 2
    said = capsys.readouterr().err
    assert f"--run '{run}': expected a folder name" in said and said.count("\n") == 1


NAMED = [["run", "--dry-run", "--run"], ["report", "--run"], ["paper", "--run"], ["compare", "--run"], ["leaderboard"]]


@pytest.mark.parametrize("command", NAMED)
@pytest.mark.parametrize("damage", [b"\xff", b"[1", b"[1]", b"", b"main_ranker: 5"])
def test_damaged_parameters_are_one_line(command, damage, results, capsys):
    (results / "mine" / "tables").mkdir(parents=True)
    (results / "mine" / "catalog.jsonl").touch()
    (results / "mine" / "params.yaml").write_bytes(damage)
    assert main([*command, "mine"]) == 2
    said = capsys.readouterr().err
    assert "mine/params.yaml: " in said and said.count("\n") == 1


@pytest.mark.parametrize("command", ["report", "paper"])
@pytest.mark.parametrize("file", ["manifests/07_statistics.json", "status.json", "figures/fig_roc.json"])
@pytest.mark.parametrize("damage", [b"\xff", b"{", b"[1]", b"5"])
def test_other_damaged_files_are_one_line(command, file, damage, results, capsys, tmp_path, monkeypatch):
    for name, content in ((file, damage), ("figures/fig_roc.svg", b"<svg/>"), ("figures/fig_roc.pdf", b"%PDF")):
        (results / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (results / "mine" / name).write_bytes(content)
    monkeypatch.setattr(paths, "ROOT", tmp_path)  # where the paper would be written
    assert main([command, "--run", "mine"]) == (0 if (command, file) == ("paper", "status.json") else 2)  # the paper reads no status
    said = capsys.readouterr().err
    assert said.count("\n") == 0 if (command, file) == ("paper", "status.json") else f"mine/{file}: " in said and said.count("\n") == 1


def test_report_is_built_anew(results, capsys):
    (results / "mine").mkdir(parents=True)
    assert main(["report", "--run", "mine"]) == 0
    assert (results / "mine" / "report" / "index.html").exists() and "index.html" in capsys.readouterr().out


def test_lists_notebooks_and_profiles(capsys):
    assert main(["run", "--list"]) == 0
    said = capsys.readouterr().out
    assert "05_ranking" in said and "smoke" in said


@pytest.mark.parametrize("raised, status, said", [
    (NotebooksFailed("03_black_box stopped in cell 3: no\nnot run, because of that: 05_ranking"), 1,
     "error: 03_black_box stopped in cell 3: no\nerror: not run, because of that: 05_ranking\n"),
    (KeyboardInterrupt(signal.SIGTERM), 143, "stopped; everything finished is kept, the same command resumes\n"),
    (KeyboardInterrupt(), 130, "stopped; everything finished is kept, the same command resumes\n"),
    (OSError(28, "No space left on device", "r.jsonl"), 2,
     "error: r.jsonl: No space left on device; everything finished is kept, the same command resumes\n"),
])  # fmt: skip
def test_how_a_run_ended_is_the_status_and_a_line_each(raised, status, said, results, capsys, monkeypatch):
    def execute(_):
        raise raised

    monkeypatch.setattr("geobench.runner.execute", execute)
    assert main(["run", "--only", "10"]) == status
    assert capsys.readouterr().err == said
