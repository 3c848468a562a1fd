"""One notebook in a process of its own: a failed, killed or stopped one is named, is no result, and leaves no process."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import pytest

from geobench import paths, progress
from geobench.errors import GeoBenchError
from geobench.notebook import Notebook


def write(source: str, folder: Path) -> None:
    kernel = {"name": "python3", "display_name": "x", "language": "python"}
    cell = nbformat.v4.new_code_cell("n = 1", metadata={"tags": ["parameters"]})
    book = nbformat.v4.new_notebook(metadata={"kernelspec": kernel}, cells=[cell, nbformat.v4.new_code_cell(source)])
    nbformat.write(book, folder / "01_x.ipynb")


@pytest.fixture
def start(tmp_path, monkeypatch):
    """`start(source, n=...)`: a running notebook with a parameters cell and one cell of this source."""
    monkeypatch.setattr(paths, "NOTEBOOKS", tmp_path)
    with tempfile.TemporaryDirectory(prefix="gb-") as scratch:

        def started(source, **values):
            write(source, tmp_path)
            return Notebook("01_x", tmp_path / "r", values, Path(scratch))

        yield started


def ended(notebook) -> int:
    while not notebook.ended:
        time.sleep(0.05)
    return notebook.peak_mib()


def gone(process: int) -> bool:
    """Whether a process ends within ten seconds; one that nobody has waited for counts as gone."""
    for _ in range(100):
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(process, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.1)
    return False


def told(file: Path) -> int:
    """The process id that a notebook's cell writes into a file."""
    for _ in range(400):
        if file.exists() and file.read_text():
            return int(file.read_text())
        time.sleep(0.05)
    raise AssertionError("the notebook has not begun")


def test_parameters_reach_it_and_noise_goes_to_the_log(start, tmp_path, capfd):
    notebook = start("import os; os.write(2, b'noise'); print('n is', n, os.environ['OMP_NUM_THREADS'])", n=5, unknown=1)
    assert ended(notebook) > 10 and progress.read(notebook.cells) == {"done": 2, "all": 2}
    folder = tmp_path / "r" / "notebooks"
    assert sorted(f.name for f in folder.iterdir()) == ["01_x.html", "01_x.ipynb", "01_x.log"]
    page = (folder / "01_x.html").read_text()
    assert page.count('class="mi">5<') == 1 and 'class="mi">1<' not in page  # the parameters once: the values of the run
    assert "n is 5 1" in page and "noise" in (folder / "01_x.log").read_text()
    assert "noise" not in capfd.readouterr().err


def test_a_failing_cell_is_named_in_one_line(start, tmp_path):
    with pytest.raises(GeoBenchError, match=r"^01_x stopped in cell 3: ValueError: one two \(see .*partial.ipynb\)$"):
        ended(start("raise ValueError('one\\ntwo')", n=2))
    with pytest.raises(GeoBenchError, match="cell 3: wrong noun"):
        ended(start("from geobench.errors import GeoBenchError\nraise GeoBenchError('wrong noun')", n=2))
    assert not (tmp_path / "r/notebooks/01_x.ipynb").exists()


def test_a_killed_kernel_and_a_killed_process_are_named(start):
    with pytest.raises(GeoBenchError, match="01_x: its process died"):
        ended(start("import os; os.kill(os.getpid(), 9)"))
    with pytest.raises(GeoBenchError, match="01_x: its process ended without a word .out of memory.*01_x.log"):
        ended(start("import os; os.kill(os.getppid(), 9); import time; time.sleep(60)"))


WAITS = "import os, time\nopen({!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"


def test_a_stopped_notebook_leaves_no_process_and_no_result(start, tmp_path):
    notebook = start(WAITS.format(str(tmp_path / "pid")))
    kernel = told(tmp_path / "pid")
    notebook.stop()
    notebook.wait()
    assert notebook.ended and gone(kernel)
    assert not (tmp_path / "r/notebooks/01_x.ipynb").exists()


def test_a_runner_that_is_killed_leaves_no_process(tmp_path):
    """SIGKILL: nothing of the runner can end its notebook."""
    write(WAITS.format(str(tmp_path / "pid")), tmp_path)
    runner = f"""
import time
from pathlib import Path
from geobench import paths
from geobench.notebook import Notebook
paths.NOTEBOOKS = Path({str(tmp_path)!r})
with __import__("tempfile").TemporaryDirectory(prefix="gb-") as scratch:
    kept = Notebook("01_x", Path({str(tmp_path / "r")!r}), {{}}, Path(scratch))
    print(kept._process.pid, flush=True)
    time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", runner], stdout=subprocess.PIPE, text=True)
    notebook, kernel = int(process.stdout.readline()), told(tmp_path / "pid")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert gone(notebook) and gone(kernel)
