import io

import pytest

from geobench import paths
from geobench.__main__ import main
from geobench.errors import GeoBenchError
from geobench.search.defences import guard, scan
from geobench.search.defences.pool import parts


@pytest.fixture
def folder(triples, tiny_encoder, tmp_path):
    model = tiny_encoder()
    rows = parts(triples, model.tokenizer, 64, 8)
    return guard.Guard(model, guard.fit(model, rows, set()), 0.5, {"chunk_tokens": 8, "chunk_overlap": 2}).save(tmp_path / "g")


def test_a_file_is_scanned_from_the_command_line(folder, tmp_path, capsys):
    file = tmp_path / "page.txt"
    file.write_text("The aloe needs water every 2 days, says the board.")
    assert main(["guard", str(file), "--model", str(folder), "--tau", "-1"]) == 0
    out = capsys.readouterr().out
    assert "chunk   1  characters      0-" in out and "BLOCK" in out and "2 of 2 chunks blocked at tau -1.0000" in out
    assert main(["guard", str(file), "--model", str(tmp_path / "none")]) == 2
    assert "no guard.json" in capsys.readouterr().err


def test_the_guard_of_a_run_is_taken_by_the_runs_name(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    (tmp_path / "mine" / "search").mkdir(parents=True)
    folder.rename(tmp_path / "mine" / "search" / "guard")
    (tmp_path / "page.txt").write_text("The aloe needs water.")
    assert main(["guard", str(tmp_path / "page.txt"), "--run", "mine"]) == 0 and "blocked at tau 0.5000" in capsys.readouterr().out
    assert main(["guard", str(tmp_path / "page.txt"), "--run", "../mine"]) == 2 and "expected a folder name" in capsys.readouterr().err


def test_unreadable_files_are_named(folder, tmp_path, monkeypatch):
    with pytest.raises(GeoBenchError, match="none.txt: cannot be read"):
        scan.scan(str(tmp_path / "none.txt"), folder)
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GeoBenchError, match="expected UTF-8"):
        scan.scan(str(tmp_path / "b"), folder)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\xff b")))
    with pytest.raises(GeoBenchError, match="-: expected UTF-8"):
        scan.scan("-", folder)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"  ")))
    with pytest.raises(GeoBenchError, match="-: the file is empty"):
        scan.scan("-", folder)


def test_a_threshold_is_a_number(folder, tmp_path):
    (tmp_path / "page.txt").write_text("The aloe needs water.")
    with pytest.raises(GeoBenchError, match="--tau: expected a number, got nan"):
        scan.scan(str(tmp_path / "page.txt"), folder, float("nan"))


@pytest.mark.parametrize("name, content, said", [
    ("model.safetensors", b"", "its files are damaged"), ("prototypes.safetensors", b"x", "its files are damaged"),
    ("guard.json", b"[" * 200_000, "guard.json is damaged"),
    ("guard.json", b'{"tau": NaN, "facts": {}, "name": "g"}', "guard.json is damaged: tau is nan"),
    ("modules.json", None, "no modules.json"), ("tokenizer.json", None, "no tokenizer.json"),
])  # fmt: skip
def test_a_damaged_guard_is_named(folder, tmp_path, name, content, said):
    (tmp_path / "page.txt").write_text("The aloe needs water.")
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises(GeoBenchError, match=f"guard {folder}: {said}"):
        scan.scan(str(tmp_path / "page.txt"), folder)
