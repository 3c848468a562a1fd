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


def test_manifests_in_order_and_damaged_ones_by_name(run):
    (run / "manifests").mkdir()
    for name, text in (("02_b", "{"), ("03_c", '{"seconds": 2, "more": 1}'), ("01_a", json.dumps({"seconds": 1}))):
        (run / "manifests" / f"{name}.json").write_text(text)
    found = [{"notebook": "01_a", "seconds": 1}, {"notebook": "03_c", "seconds": 2, "more": 1}]
    assert reproduce.manifests(run, but=["02_b"]) == found
    with pytest.raises(GeoBenchError, match="02_b.json: Invalid JSON: .*its notebook must run again"):
        reproduce.manifests(run)


@pytest.mark.parametrize("text", [b"\xff", b"[1]", b"null", b'{"seconds": "x"}', b'{"outputs": [1]}', b'{"versions": []}'])
def test_a_damaged_manifest_is_named(run, text):
    (run / "01_a.json").write_bytes(text)
    with pytest.raises(GeoBenchError, match="01_a.json: .*, got .*its notebook must run again"):
        reproduce.manifest(run / "01_a.json")


DAMAGED = {
    b"\xff\xfe\x00": "not valid YAML", b"a: [1": "not valid YAML", b"a: 2024-99-99": "not valid YAML", b"": "expected a mapping",
    b"[1]": "expected a mapping", b"main_ranker: 5": "main_ranker: Input should be a valid string, got '5'",
    b"datasets: kitchen": "datasets: Input should be a valid list", b"5: x": "5: Keys should be strings",
}  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED)
def test_damaged_parameters_are_named(run, text):
    (run / "params.yaml").write_bytes(text)
    with pytest.raises(GeoBenchError, match=f"mine/params.yaml: {DAMAGED[text]}"):
        reproduce.read_params(run)


def test_parameters_of_other_versions_are_read_and_what_is_needed_must_be_there(run):
    (run / "params.yaml").write_text("main_ranker: bm25\nsome_day: 1\n")
    assert reproduce.read_params(run, "main_ranker") == {"main_ranker": "bm25", "some_day": 1}
    with pytest.raises(GeoBenchError, match="params.yaml: judge: Field required"):
        reproduce.read_params(run, "main_ranker", "judge")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-x", "a\n"])
def test_a_run_is_one_folder_under_results(run, name):
    with pytest.raises(GeoBenchError, match="expected a folder name"):
        reproduce.folder_of(name)


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
