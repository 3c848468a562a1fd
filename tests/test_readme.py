"""README.md, CONTRIBUTING.md and CITATION.cff say what is there: commands parse, files exist, parameters and profiles are known."""

import re
import shlex

import pytest
import yaml

from geobench import paths
from geobench.__main__ import _parser
from geobench.params import Params, parse_override, profiles

README, GUIDE = ((paths.ROOT / f"{name}.md").read_text(encoding="utf-8") for name in ("README", "CONTRIBUTING"))
PROSE = re.sub(r"```.*?```", "", README + GUIDE, flags=re.DOTALL)
QUOTED = [" ".join(q.split()) for q in re.findall(r"`([^`]+)`", PROSE)]
RUNS = sorted({q.replace("[-p released_dir=DIR --run NAME]", "") for q in QUOTED if q.startswith("./run_all.sh ")})
OTHERS = sorted({q for q in QUOTED if "-m geobench " in q})


@pytest.mark.parametrize("line", RUNS)
def test_runs_parse_and_name_known_parameters_profiles_and_notebooks(line):
    if "--help" in line:
        return
    args = _parser().parse_args(["run", *shlex.split(line)[1:]])
    assert args.profile in profiles()
    assert {parse_override(o)[0] for o in args.overrides} <= set(Params.model_fields)
    names = [f.stem for f in paths.NOTEBOOKS.glob("*.ipynb")]
    assert all(any(n.startswith(wanted) for n in names) for wanted in [*args.only, *([args.start] if args.start else [])])


@pytest.mark.parametrize("line", OTHERS)
def test_other_commands_parse(line):
    wanted = shlex.split(line.split("-m geobench ")[1])
    assert _parser().parse_args(wanted).command == wanted[0]


def test_files_named_are_there():
    named = {q for q in QUOTED if re.fullmatch(r"(?:lib|params|data|tests|benchmarks|paper|notebooks)/[\w./-]+", q) and "NAME" not in q}
    links = set(re.findall(r"\]\(([\w./-]+)\)", README + GUIDE))
    made = {"paper/paper.pdf"}
    assert len(named) > 10 and [f for f in sorted(named | links) if f not in made and not (paths.ROOT / f).exists()] == []


def test_citation():
    made = yaml.safe_load((paths.ROOT / "CITATION.cff").read_text())
    assert made["cff-version"] == "1.2.0" and made["authors"] and made["license"] == "MIT"
    assert f'version = "{made["version"]}"' in (paths.ROOT / "pyproject.toml").read_text()
