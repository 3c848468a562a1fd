"""The shape of the tree: no import cycles, thin modules, short functions, documented public names, notebooks without private names."""

import ast
import json
import re
from importlib import import_module
from inspect import getsource, isfunction, signature

import pytest

from geobench import paths
from geobench.params import Params

LIB = paths.ROOT / "lib" / "geobench"
FILES = sorted(LIB.rglob("*.py"))


def module(file) -> str:
    return ".".join(file.relative_to(LIB.parent).with_suffix("").parts).removesuffix(".__init__")


NAMES = {module(f) for f in FILES}


def imports(file) -> set[str]:
    """Our modules that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            found |= {name for alias in node.names if (name := f"{node.module}.{alias.name}") in NAMES} or {node.module}
    return found & NAMES


def test_imports_form_no_cycle():
    graph, done = {module(f): imports(f) for f in FILES}, set()

    def visit(name, path):
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, [*path, name])
            done.add(name)

    for name in sorted(graph):
        visit(name, [])


def test_modules_are_thin():
    assert {f.name: n for f in FILES if (n := f.read_text().count("\n")) > 200} == {}


def test_functions_are_short():
    nodes = [(f.name, n) for f in FILES for n in ast.walk(ast.parse(f.read_text())) if isinstance(n, ast.FunctionDef)]
    assert [(f, n.name) for f, n in nodes if n.end_lineno - n.lineno + 1 > 40] == []


def test_modules_have_a_docstring():
    assert [f.name for f in FILES if f.read_text().strip() and not ast.get_docstring(ast.parse(f.read_text()))] == []


@pytest.mark.parametrize("file", sorted(paths.NOTEBOOKS.glob("*.ipynb")), ids=lambda f: f.stem)
def test_notebooks_use_public_names(file):
    code = "\n".join("".join(c["source"]) for c in json.loads(file.read_text())["cells"] if c["cell_type"] == "code")
    lines = [line for line in code.splitlines() if re.match(r"\s*(from|import) geobench", line)]
    assert lines and [line for line in lines if re.search(r"(?:import |, |\.)_", line)] == []


@pytest.mark.parametrize("file", sorted(paths.NOTEBOOKS.glob("*.ipynb")), ids=lambda f: f.stem)
def test_notebooks_open_with_question_method_files_cost_caveat_and_working_links(file):
    first = "".join(json.loads(file.read_text())["cells"][0]["source"])
    assert [w for w in ("**Question.**", "**Method.**", "**Reads**", "**Writes**", "**Cost**", "**Caveat.**") if w not in first] == []
    links = re.findall(r"\]\(([^)]+)\)", first)
    assert links and [link for link in links if not (paths.NOTEBOOKS / link).exists()] == []


@pytest.mark.parametrize("file", sorted(paths.NOTEBOOKS.glob("*.ipynb")), ids=lambda f: f.stem)
def test_every_code_cell_follows_a_sentence(file):
    cells = json.loads(file.read_text())["cells"]
    assert [b["id"] for a, b in zip(cells, cells[1:]) if a["cell_type"] == b["cell_type"] == "code"] == []


def taken(file) -> list[tuple[str, set[str], set[str]]]:
    """(name, parameters, those that are given) of each call of one of our functions in a notebook's cells."""
    cells = [c for c in json.loads(file.read_text())["cells"] if c["cell_type"] == "code"]
    nodes = [n for c in cells for n in ast.walk(ast.parse("".join(c["source"])))]
    known, found = {}, []
    for node in (n for n in nodes if isinstance(n, ast.ImportFrom) and n.module.startswith("geobench")):
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            known[alias.asname or alias.name] = import_module(whole) if whole in NAMES else getattr(import_module(node.module), alias.name)
    for node in (n for n in nodes if isinstance(n, ast.Call)):
        called = known.get(getattr(node.func, "id", None))
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            called = getattr(known.get(node.func.value.id), node.func.attr, None)
        if isfunction(called):
            names = list(signature(called).parameters)
            found.append((called.__name__, set(names), {*names[: len(node.args)], *(k.arg for k in node.keywords)}))
    return found


@pytest.mark.parametrize("file", sorted(paths.NOTEBOOKS.glob("*.ipynb")), ids=lambda f: f.stem)
def test_notebooks_give_the_runs_resamples_and_seed_to_what_takes_them(file):
    calls = [(name, {"resamples", "seed"} & asked - given) for name, asked, given in taken(file)]
    assert calls and [call for call in calls if call[1]] == []


def sources(name: str) -> str:
    """The code that reads a notebook's parameters off the run."""
    from geobench import ladder_scripts, rankers, ranking, run
    from geobench.search import public, quality
    from geobench.search.defences import guard_run

    read = {"01": [run.drawn], "05": [rankers.open_for, ranking.rank_all], "09": [rankers.open_for, ladder_scripts]}
    read |= {"11": [public, quality], "13": [guard_run]}
    return "\n".join(map(getsource, read[name[:2]]))


@pytest.mark.parametrize("name", ["01_data", "05_ranking", "09_evaluation_ladder", "11_search_data", "13_guard"])
def test_the_parameters_cell_lists_what_the_notebooks_code_reads(name):
    cells = json.loads((paths.NOTEBOOKS / f"{name}.ipynb").read_text())["cells"]
    (own,) = ["".join(c["source"]) for c in cells if "parameters" in c["metadata"].get("tags", ())]
    given = {target.id for node in ast.parse(own).body for target in node.targets}
    read = set(re.findall(r"\b(?:p|params|settings)\.(\w+)", sources(name))) & set(Params.model_fields)
    assert len(read) >= 4 and sorted(read - given) == []
