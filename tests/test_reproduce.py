import json

import pytest
import yaml

from geobench import paths, reproduce
from geobench.errors import GeoBenchError
from geobench.inventory import FIGURES, TABLES
from geobench.params import load


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    (tmp_path / "mine").mkdir()
    return tmp_path / "mine"


def write(folder, **values):
    (folder / "params.yaml").write_text(yaml.safe_dump(load("smoke", values).model_dump()))


def test_command_names_the_profile_and_what_differs(run):
    write(run, orders=4, datasets=["kitchen"], batch_size=1)
    assert reproduce.command(run) == "./run_all.sh -p datasets='[\"kitchen\"]' -p orders=4 --run mine"


def test_command_of_another_profile(run):
    (run / "params.yaml").write_text(yaml.safe_dump(load("released").model_dump()))
    assert reproduce.command(run) == "./run_all.sh --profile released --run mine"


def test_every_table_and_figure_has_its_notebook():
    assert reproduce.notebook_of("table_02_main") == "07_statistics" and reproduce.notebook_of("fig_roc") == "08_figures"
    assert reproduce.notebook_of("v1_kitchen") == "07_statistics" and reproduce.notebook_of("search_main") == "12_search_answers"
    assert [name for name in TABLES | FIGURES if reproduce.notebook_of(name) is None] == []
    assert reproduce.notebook_of("compare") is None  # `python -m geobench compare` writes it


def test_manifests_in_order_without_damaged_ones(run):
    (run / "manifests").mkdir()
    for name, text in (("02_b", "{"), ("03_c", '{"seconds": 2}'), ("01_a", json.dumps({"seconds": 1}))):
        (run / "manifests" / f"{name}.json").write_text(text)
    assert reproduce.manifests(run) == [{"notebook": "01_a", "seconds": 1}, {"notebook": "03_c", "seconds": 2}]


def test_folder_of_an_unknown_run_names_the_nearest(run):
    write(run)
    assert reproduce.folder_of("mine") == run
    with pytest.raises(GeoBenchError, match="Did you mean `mine`"):
        reproduce.folder_of("mime")


def test_no_parameters_where_there_is_no_file(tmp_path):
    assert reproduce.read_params(tmp_path) == {} and "processors" in reproduce.machine()


def test_gpus_are_counted_by_name(tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA X, 80 GiB'\necho 'NVIDIA X, 80 GiB'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert reproduce.machine.__wrapped__().endswith("; 2 x NVIDIA X, 80 GiB")
    tool.write_text("#!/bin/sh\nexit 9\n")
    assert "NVIDIA" not in reproduce.machine.__wrapped__()


def test_dollars_of_a_run(run, tmp_path, monkeypatch):
    from geobench.replies import ReplyStore

    monkeypatch.setenv("GEOBENCH_REPLIES", str(tmp_path / "replies.sqlite"))
    assert reproduce.dollars(run) == 0.0 and not (tmp_path / "replies.sqlite").exists()
    store = ReplyStore()
    store.pay("k", str(run.resolve()), "m", 10, 5, 0.25)
    store.pay("k", "another run", "m", 10, 5, 1.0)
    store.close()
    assert reproduce.dollars(run) == 0.25
