"""The notebooks of one call: each is reused while nothing that it reads has changed, else run, and what it left is noted."""

import json
from pathlib import Path

from geobench.digests import digest, files, intact, outputs, seal
from geobench.errors import GeoBenchError
from geobench.notebook import Notebook
from geobench.reproduce import manifest
from geobench.schedule import run
from geobench.shown import shown
from geobench.tables import put


class Execution:
    """The chosen notebooks of one call: what is reused, what runs, and what each left in its manifest. made: the runner's plan."""

    def __init__(self, made, say, scratch: Path):
        self.made, self.shown, self.scratch = made, shown(say), scratch
        self.rows: dict[str, dict] = {}
        self.began: dict[str, dict] = {}  # files that were there

    def run(self, workers: int) -> list[dict]:
        run(self.made.chosen, workers, self.begin, self.finish, self.shown)
        return [self.rows[name] for name in self.made.chosen]

    def begin(self, name: str) -> Notebook | None:
        made, file = self.made, self.file(name)
        kept = {} if made.force else _manifest(file, self.shown.say)
        if intact(made.folder, kept) and kept.get("digest") == digest(made.params, made.folder, name):
            self.note(name, "reused", kept.get("seconds", 0.0))
            return None
        self.shown.say(f"{name} ...")
        self.began[name] = files(made.folder)
        (self.scratch / name[:2]).mkdir()
        return Notebook(name, made.folder, made.params.model_dump() | {"run": made.run}, self.scratch / name[:2])

    def finish(self, name: str, notebook: Notebook) -> None:
        try:
            peak, made, file = notebook.peak_mib(), self.made, self.file(name)
        except GeoBenchError as error:
            self.note(name, f"failed: {error}", notebook.seconds)
            raise
        file.parent.mkdir(parents=True, exist_ok=True)
        row = {"notebook": name, "digest": digest(made.params, made.folder, name), "seconds": notebook.seconds, **_ran_on(made.folder)}
        made_files = outputs(name, self.began[name], files(made.folder))
        row |= {"peak_mib": peak, "outputs": made_files, "sealed": seal(made.folder, made_files)}
        put(file, json.dumps(row, indent=1, sort_keys=True) + "\n")
        self.note(name, "ran", notebook.seconds)

    def note(self, name: str, state: str, seconds: float) -> None:
        self.rows[name] = {"notebook": name, "state": state, "seconds": seconds}
        self.shown.say(f"[{len(self.rows)}/{len(self.made.chosen)}] {name}: {state} ({seconds:.0f} s when it ran)")

    def file(self, name: str) -> Path:
        return self.made.folder / "manifests" / f"{name}.json"


def _manifest(file: Path, say) -> dict:
    """A notebook's manifest; nothing where there is none or a damaged one, so that the notebook runs."""
    try:
        return manifest(file) if file.exists() else {}
    except GeoBenchError as error:
        say(str(error))
        return {}


def _ran_on(folder: Path) -> dict:
    """What a manifest says beside digest and seconds: machine, library versions, and the dollars that the run has paid so far."""
    from importlib.metadata import version

    from geobench.reproduce import dollars, machine

    versions = {p: version(p) for p in ("torch", "transformers", "numpy", "pandas", "papermill")}
    return {"machine": machine(), "dollars": dollars(folder), "versions": versions}
