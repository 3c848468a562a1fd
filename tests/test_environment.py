"""environment.yml and requirements.lock agree with pyproject.toml."""

import re
import subprocess
import tomllib

import yaml

from geobench import paths

PROJECT = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]


def test_conda_takes_python_and_packages_from_the_project():
    made = yaml.safe_load((paths.ROOT / "environment.yml").read_text())
    assert made["name"] == PROJECT["name"]
    assert f"python{PROJECT['requires-python']}" in made["dependencies"]
    (pip,) = [d["pip"] for d in made["dependencies"] if isinstance(d, dict)]
    assert pip == ["-e .[test]"] and "test" in PROJECT["optional-dependencies"]


def test_every_dependency_is_locked():
    lines = (paths.ROOT / "requirements.lock").read_text().splitlines()
    locked = {line.split("==")[0].strip().lower().replace("_", "-") for line in lines if "==" in line}
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    assert not {re.match(r"[\w-]+", w)[0].lower() for w in wanted} - locked


def test_commands_use_the_library_of_their_own_checkout(tmp_path):
    """Even where a shared environment has another checkout installed."""
    pin = subprocess.check_output("cat requirements.lock pyproject.toml | cksum", shell=True, cwd=paths.ROOT, text=True)
    (tmp_path / ".pinned").write_text(pin)
    call = f"source {paths.ROOT}/bootstrap.sh && echo $PYTHONPATH"
    said = subprocess.check_output(["bash", "-c", call], env={"PATH": "/usr/bin:/bin", "GEOBENCH_VENV": str(tmp_path)}, text=True)
    assert said.strip() == f"{paths.ROOT}/lib"


def test_an_environment_of_other_requirements_is_not_taken_over(tmp_path):
    (tmp_path / ".pinned").write_text("1 2")
    done = subprocess.run(
        ["bash", "-c", f"source {paths.ROOT}/bootstrap.sh"], env={"PATH": "/usr/bin:/bin", "GEOBENCH_VENV": str(tmp_path)},
        text=True, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 1 and "was made from other requirements than this checkout's" in done.stderr
    assert [f.name for f in tmp_path.iterdir()] == [".pinned"]
