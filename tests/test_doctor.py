"""The doctor: a line per check, how to mend it, and the exit status."""

import pytest

from geobench import doctor, paths


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    monkeypatch.delenv("GEOBENCH_DATA_MIRROR", raising=False)
    return tmp_path


def test_missing_weights_are_to_mend(capsys):
    assert doctor.main() == 1
    said = capsys.readouterr().out
    assert "MEND  weights of smollm2-135m: missing: python -m geobench weights" in said
    assert "ok    embedded data: 6 lists in 3 data sets" in said


def test_all_well(capsys):
    from geobench.models import spec
    from geobench.weights import folder_of

    for name in doctor.EMBEDDED:
        folder_of(spec(name)).mkdir(parents=True)
        (folder_of(spec(name)) / ".complete").write_text("")
    assert doctor.main() == 0 and "MEND" not in capsys.readouterr().out


def test_a_mirror_that_is_not_there(monkeypatch, capsys):
    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", "/no/such/folder")
    assert doctor.main() == 1
    assert "MEND  public data mirror: /no/such/folder does not exist" in capsys.readouterr().out


def test_a_file_where_a_folder_belongs(folders, capsys):
    (folders / "results").write_text("")
    assert doctor.main() == 1
    assert f"MEND  {folders / 'results'} is not writable" in capsys.readouterr().out
