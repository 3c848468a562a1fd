"""Where things are, in fresh processes: the root is found whatever the working directory."""

import os
import subprocess
import sys
from pathlib import Path

from geobench import paths

SHOW = "from geobench import paths as p; print(p.ROOT, p.RESULTS, p.CACHE, sep='\\n')"


def shown(cwd, **env):
    drop = {"GEOBENCH_ROOT", "GEOBENCH_RESULTS", "GEOBENCH_CACHE"}
    env = {k: v for k, v in os.environ.items() if k not in drop} | {"PYTHONPATH": str(paths.ROOT / "lib")} | env
    done = subprocess.run([sys.executable, "-c", SHOW], cwd=cwd, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_root_is_the_checkout_from_any_folder(tmp_path):
    assert shown(tmp_path)[:2] == [str(paths.ROOT), str(paths.ROOT / "results")]


def test_the_environment_overrides(tmp_path):
    made = shown(tmp_path, GEOBENCH_ROOT=str(tmp_path), GEOBENCH_CACHE=str(tmp_path / "c"))
    assert made == [str(tmp_path), str(tmp_path / "results"), str(tmp_path / "c")]
    assert shown(tmp_path, GEOBENCH_RESULTS=str(tmp_path / "r"))[1] == str(tmp_path / "r")


def test_the_mirror_is_read_anew(monkeypatch):
    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", "/some/where")
    assert paths.mirror() == Path("/some/where")
    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", "")
    assert paths.mirror() is None
