"""Peak memory grows with what was held at once."""

import subprocess
import sys

import numpy as np

from geobench.memory import _container, available_mib, peak_mib, peak_of_children_mib


def test_the_peak_holds_an_array_that_is_gone():
    before = peak_mib()
    held = np.ones((before + 64) * 2**17)  # 8 bytes each: as many MiB as the process ever had, and 64 more
    assert held[0] == 1
    del held
    assert peak_mib() >= before + 64


def group(folder, limit: str, used: int, cached: int) -> None:
    """The files of a control group (version 2)."""
    for name, text in (("max", limit), ("current", str(used)), ("stat", f"anon 5\ninactive_file {cached}")):
        (folder / f"memory.{name}").write_text(f"{text}\n")


def test_what_a_container_has_left_is_its_limit_less_what_is_used_without_cached_files(tmp_path):
    assert _container(tmp_path, "max", "current", "inactive_file") is None  # no control group here
    group(tmp_path, str(6 * 2**30), 3 * 2**30, 2**30)
    assert _container(tmp_path, "max", "current", "inactive_file") == 4 * 2**10
    group(tmp_path, "max", 3 * 2**30, 0)
    assert _container(tmp_path, "max", "current", "inactive_file") is None
    group(tmp_path, str(2**30), 3 * 2**30, 0)
    assert _container(tmp_path, "max", "current", "inactive_file") == 0


def test_this_machine_has_some_left_and_a_child_has_a_peak():
    assert available_mib() > 0
    subprocess.run([sys.executable, "-c", "held = bytearray(200 * 2**20)"], check=True)
    assert peak_of_children_mib() >= 200
