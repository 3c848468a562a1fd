"""Execute one notebook with papermill, so that only a whole one counts."""

import os
import sys
from contextlib import contextmanager
from pathlib import Path

from geobench import paths
from geobench.errors import GeoBenchError
from geobench.tables import put


def execute_notebook(name: str, folder: Path, values: dict) -> None:
    """Execute notebooks/<name>.ipynb with `values` into <folder>/notebooks: a partial file until it has succeeded, then HTML too.

    What its process says on standard error is in <name>.log. GeoBenchError names the cell that failed.
    """
    import papermill
    from nbclient.exceptions import DeadKernelError
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    folder = folder / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    partial, final = folder / f"{name}.partial.ipynb", folder / f"{name}.ipynb"
    source = str(paths.NOTEBOOKS / f"{name}.ipynb")
    known = papermill.inspect_notebook(source)
    values = {k: v for k, v in values.items() if k in known}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(paths.ROOT / "lib"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    try:
        with _stderr_to(folder / f"{name}.log"):
            papermill.execute_notebook(
                source, str(partial), parameters=values, kernel_name="python3", cwd=str(paths.ROOT), progress_bar=False
            )
    except papermill.PapermillExecutionError as error:
        said = " ".join(f"{error.ename}: {error.evalue}".removeprefix("GeoBenchError: ").split())
        raise GeoBenchError(f"{name} stopped in cell {error.exec_count}: {said} (see {partial})") from error
    except DeadKernelError as error:
        raise GeoBenchError(f"{name}: its process died (out of memory?); everything finished is kept: the same command resumes") from error
    partial.replace(final)
    shown = Config({"TagRemovePreprocessor": {"enabled": True, "remove_cell_tags": {"parameters"}}})  # the injected cell follows it
    body, _ = HTMLExporter(exclude_input_prompt=True, exclude_output_prompt=True, config=shown).from_filename(str(final))
    put(folder / f"{name}.html", body)


@contextmanager
def _stderr_to(log: Path):
    """What the kernel's process says on its standard error goes to a file; cells' own output stays in the notebook."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log.open("w") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
