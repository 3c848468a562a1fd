"""One notebook in a process of its own: papermill executes it there, so that several can run at once and only a whole one counts.

The process ends with its runner, however that ends: it waits on the runner's pipe. Kernel and papermill speak through socket files in a
folder of their own (ipc), not through ports of this machine: ports are chosen before they are bound, and two kernels that start at once
can be given the same one.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from geobench import paths
from geobench.errors import GeoBenchError, came, of_system
from geobench.memory import peak_of_children_mib
from geobench.tables import put

# One thread, whatever the machine and whatever runs beside it: the last digits of a sum depend on how many threads share it.
LIBRARIES = ("OMP_NUM", "MKL_NUM", "OPENBLAS_NUM", "NUMEXPR_NUM", "VECLIB_MAXIMUM", "RAYON_NUM")
ONE_THREAD = {f"{library}_THREADS": "1" for library in LIBRARIES}
PATIENCE = 5.0  # seconds that a stopped notebook has to end its kernel


class Notebook:
    """A started notebook. `scratch`: an own folder of short path for its sockets and its progress files."""

    def __init__(self, name: str, folder: Path, values: dict, scratch: Path):
        self.name, self.log, self.began = name, folder / "notebooks" / f"{name}.log", time.monotonic()
        self.units, self.cells = scratch / "units", scratch / "cells"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        library = os.pathsep.join(filter(None, [str(paths.ROOT / "lib"), os.environ.get("PYTHONPATH")]))
        told = os.environ | ONE_THREAD | {"PYTHONPATH": library, "GEOBENCH_PROGRESS": str(self.units)}
        asked = {"name": name, "source": str(paths.NOTEBOOKS / f"{name}.ipynb"), "folder": str(folder), "values": values}
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "geobench.notebook", str(scratch)], env=told, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, start_new_session=True,
            )  # fmt: skip
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self.began, 1)

    def peak_mib(self) -> int:
        """Of the ended notebook: the most memory that its kernel used. GeoBenchError says what stopped it."""
        said, _ = self._process.communicate()
        try:
            told = json.loads(said)
        except ValueError:
            raise GeoBenchError(f"{self.name}: its process ended without a word (out of memory?); see {self.log}") from None
        if "error" in told:
            raise GeoBenchError(told["error"])
        return told["peak_mib"]

    def stop(self) -> None:
        """Begin to end it: its process sees the closed pipe and ends the kernel."""
        self._process.stdin.close()

    def wait(self) -> None:
        """Until it has ended, by force after PATIENCE."""
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def execute_notebook(source: Path, folder: Path, values: dict, scratch: Path) -> None:
    """Execute a notebook with `values` into <folder>/notebooks: a partial file until it has succeeded, then HTML too.

    GeoBenchError names the cell that failed.
    """
    import papermill
    from nbclient.exceptions import DeadKernelError
    from traitlets.config import Config

    name, folder = source.stem, folder / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    partial, final = folder / f"{name}.partial.ipynb", folder / f"{name}.ipynb"
    known = papermill.inspect_notebook(str(source))
    manager = {"transport": "ipc", "connection_file": str(scratch / "kernel.json"), "shutdown_wait_time": 2.0}
    try:
        papermill.execute_notebook(
            str(source), str(partial), parameters={k: v for k, v in values.items() if k in known}, kernel_name="python3",
            cwd=str(paths.ROOT), progress_bar=False, config=Config({"KernelManager": manager}), on_cell_start=_counted(source, scratch),
        )
    except papermill.PapermillExecutionError as error:
        said = " ".join(f"{error.ename}: {error.evalue}".removeprefix("GeoBenchError: ").split())
        raise GeoBenchError(f"{name} stopped in cell {error.exec_count}: {said} (see {partial})") from error
    except DeadKernelError as error:
        raise GeoBenchError(f"{name}: its process died (out of memory?); everything finished is kept: the same command resumes") from error
    partial.replace(final)
    put(folder / f"{name}.html", _page(final))


def _counted(source: Path, scratch: Path):
    """A hook that says which cell runs."""
    from geobench.progress import Progress

    progress, count = Progress(scratch / "cells"), len(json.loads(source.read_text(encoding="utf-8"))["cells"])
    progress.expect({"cells": count})
    return lambda cell, cell_index: progress.reached("cells", min(cell_index, count))  # papermill adds a cell of parameters


def _page(file: Path) -> str:
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    shown = Config({"TagRemovePreprocessor": {"enabled": True, "remove_cell_tags": {"parameters"}}})  # the injected cell follows it
    body, _ = HTMLExporter(exclude_input_prompt=True, exclude_output_prompt=True, config=shown).from_filename(str(file))
    return body


def _end_with_runner() -> None:
    """Wait for the end of the runner's pipe; then an interrupt makes papermill end the kernel."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(PATIENCE - 1)
    os._exit(1)  # a kernel whose parent is gone ends itself within a second


def main(scratch: Path) -> None:
    """What the process does: one JSON line in, the notebook, one JSON line out."""
    asked, out = json.loads(sys.stdin.readline()), os.dup(1)
    os.dup2(2, 1)  # whatever else is said goes to the log
    threading.Thread(target=_end_with_runner, daemon=True).start()
    try:
        execute_notebook(Path(asked["source"]), Path(asked["folder"]), asked["values"], scratch)
        told = {"peak_mib": peak_of_children_mib()}
    except GeoBenchError as error:
        told = {"error": str(error)}
    except OSError as error:
        told = {"error": f"{asked['name']}: {of_system(error)}; everything finished is kept, the same command resumes"}
    except RuntimeError as error:  # the kernel did not start
        told = {"error": f"{asked['name']}: {came(error)}"}
    os.write(out, json.dumps(told).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
