"""One notebook at a time: a failed or killed one is named and is no result."""

import nbformat
import pytest

from geobench import notebook, paths
from geobench.errors import GeoBenchError


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "NOTEBOOKS", tmp_path)

    def execute(source, **values):
        book = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "x", "language": "python"}})
        cell = nbformat.v4.new_code_cell("n = 1", metadata={"tags": ["parameters"]})
        book.cells = [cell, nbformat.v4.new_code_cell(source)]
        nbformat.write(book, tmp_path / "01_x.ipynb")
        notebook.execute_notebook("01_x", tmp_path / "r", values)
        return tmp_path / "r" / "notebooks"

    return execute


def test_parameters_reach_it_and_noise_goes_to_the_log(run, capfd):
    folder = run("import os; os.write(2, b'noise'); print('n is', n)", n=5, unknown=1)
    assert sorted(f.name for f in folder.iterdir()) == ["01_x.html", "01_x.ipynb", "01_x.log"]
    page = (folder / "01_x.html").read_text()
    assert page.count('class="mi">5<') == 1 and 'class="mi">1<' not in page  # the parameters once: the values of the run
    assert "n is 5" in page and "noise" in (folder / "01_x.log").read_text()
    assert "noise" not in capfd.readouterr().err


def test_a_failing_cell_is_named_in_one_line(run, tmp_path):
    with pytest.raises(GeoBenchError, match=r"^01_x stopped in cell 3: ValueError: one two \(see .*partial.ipynb\)$"):
        run("raise ValueError('one\\ntwo')", n=2)
    with pytest.raises(GeoBenchError, match="cell 3: wrong noun"):
        run("from geobench.errors import GeoBenchError\nraise GeoBenchError('wrong noun')", n=2)
    assert not (tmp_path / "r/notebooks/01_x.ipynb").exists()


def test_a_killed_process_is_named(run):
    with pytest.raises(GeoBenchError, match="01_x: its process died"):
        run("import os; os.kill(os.getpid(), 9)")
