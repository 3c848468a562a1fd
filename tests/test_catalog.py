import json

import pytest

from geobench import catalog, paths
from geobench.catalog import Selected, catalog_sha, make_list, read_catalog, select, write_catalog
from geobench.errors import GeoBenchError


@pytest.fixture
def embedded(tmp_path, monkeypatch):
    """Two small data sets, office (4 lists of 6) and garden (1 list of 2), in place of the embedded ones."""
    for name, n in (
        ("office/desk", 6),
        ("office/chair", 6),
        ("office/lamp", 6),
        ("office/shelf", 6),
        ("garden/hoe", 2),
    ):
        file = tmp_path / f"{name}.jsonl"
        file.parent.mkdir(exist_ok=True)
        rows = [{"Name": f"{name} {i}", "Natural": f"Text {i}."} for i in range(1, n + 1)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "nouns.yaml").write_text('"office/desk": "standing desk"\n')
    monkeypatch.setattr(paths, "EMBEDDED", tmp_path)
    return tmp_path


def test_load_embedded(embedded):
    found = catalog.load_embedded()
    assert {name: [lst.name for lst in lists] for name, lists in found.items()} == {
        "garden": ["hoe"],
        "office": ["chair", "desk", "lamp", "shelf"],
    }
    assert [lst.noun for lst in found["office"]] == ["chair", "standing desk", "lamp", "shelf"]


def test_noun_without_a_list(embedded):
    (embedded / "nouns.yaml").write_text('"office/dask": "desk"\n')
    with pytest.raises(GeoBenchError, match="nouns.yaml: no list is called 'office/dask'"):
        catalog.load_embedded()


def test_embedded_lists_are_strict(embedded):
    file = embedded / "garden" / "hoe.jsonl"
    file.write_text(file.read_text() + '{"Name": "GARDEN/hoe 1", "Natural": "Again."}\n')
    with pytest.raises(GeoBenchError, match="list `garden/hoe`: items 1 and 3 share the name 'GARDEN/hoe 1'"):
        catalog.load_dataset("garden")


def test_unknown_dataset_names_the_nearest(embedded):
    assert catalog.available_datasets()[:4] == ["garden", "office", "ragroll", "stsdata"]
    with pytest.raises(GeoBenchError, match="unknown data set 'offise'. Did you mean `office`?"):
        catalog.load_dataset("offise")
    with pytest.raises(GeoBenchError, match="Did you mean `ragroll`?"):
        select(["ragrol"], None, None, 0)


def test_select_all(embedded):
    chosen = select(["office", "garden"], None, None, seed=5)
    assert [one.list.key for one in chosen] == [
        *(f"office/{name}" for name in ("chair", "desk", "lamp", "shelf")),
        "garden/hoe",
    ]
    assert chosen[0].targets == (1, 2, 3, 4, 5, 6)
    assert select(["office", "garden"], 100, 100, seed=5) == chosen


def test_select_is_seeded_nested_and_independent(embedded):
    chosen = select(["office"], 2, 3, seed=5)
    assert chosen == select(["office"], 2, 3, seed=5)
    assert [one.list.name for one in chosen] == sorted(one.list.name for one in chosen)
    assert all(one.targets == tuple(sorted(one.targets)) and len(one.targets) == 3 for one in chosen)
    assert select(["garden", "office"], 2, 3, seed=5)[1:] == chosen  # other data sets change nothing
    targets = {one.list.key: set(one.targets) for one in select(["office"], 3, 4, seed=5)}
    assert all(
        set(one.targets) < targets[one.list.key] for one in chosen
    )  # a larger run contains the smaller
    others = [select(["office"], 2, 3, seed=seed) for seed in range(20)]
    assert len({tuple(one.list.name for one in other) for other in others}) > 2
    assert len({other[0].targets for other in others}) > 5


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((["office"], 0, None), "lists_per_dataset: expected a number from 1, or null for all, got '0'"),
        ((["office"], None, -1), "targets_per_list: expected a number from 1"),
        (([], None, None), "datasets: expected a list of different names"),
        (("office", None, None), "datasets: expected a list of different names, got 'office'"),
        ((["office", "office"], None, None), "datasets: expected a list of different names"),
    ],
)
def test_select_refuses(embedded, arguments, message):
    with pytest.raises(GeoBenchError, match=message):
        select(*arguments, seed=0)


def test_catalog_round_trip(tmp_path):
    desk = make_list("office", "desk", "desk", [("Ök „1“", 'Says "#1"\nand more.'), ("B", "Two\u2028lines.")])
    chosen = [
        Selected(desk, (2,)),
        Selected(make_list("garden", "hoe", None, [("A", "x"), ("B", "y")]), (1, 2)),
    ]
    path = tmp_path / "run" / "catalog.jsonl"
    write_catalog(path, chosen)
    assert read_catalog(path) == chosen
    first = json.loads(path.read_text("utf-8").split("\n")[0])
    assert list(first) == ["dataset", "list", "noun", "items", "targets"]
    assert first["items"][1] == {"name": "B", "description": "Two\u2028lines."} and first["targets"] == [2]
    assert [file.name for file in path.parent.iterdir()] == ["catalog.jsonl"]


def test_read_catalog_refuses(tmp_path):
    path = tmp_path / "catalog.jsonl"
    desk = make_list("office", "desk", "desk", [("A", "x"), ("B", "y")])
    for target in (0, 3, "1"):
        write_catalog(path, [Selected(desk, (target,))])
        with pytest.raises(GeoBenchError, match=f"`office/desk` has items 1 to 2, got target '{target}'"):
            read_catalog(path)
    write_catalog(path, [Selected(desk, (1,))])
    path.write_text(path.read_text()[:-20])
    with pytest.raises(GeoBenchError, match=r"catalog.jsonl:1: expected a JSON object"):
        read_catalog(path)
    path.write_text('{"dataset": "office"}\n')
    with pytest.raises(GeoBenchError, match="list 1: expected dataset, list, noun, items and targets, got"):
        read_catalog(path)


def test_catalog_sha_is_of_content():
    def one(text, targets=(1,), noun="desk"):
        return Selected(make_list("office", "desk", noun, [("A", text), ("B", "y")]), targets)

    other = Selected(make_list("garden", "hoe", None, [("A", "x"), ("B", "y")]), (1,))
    sha = catalog_sha([one("x"), other])
    assert sha == catalog_sha([other, one("x", (1, 2))])
    assert sha not in {
        catalog_sha([one("z"), other]),
        catalog_sha([one("x", noun="table"), other]),
        catalog_sha([other]),
    }


def test_embedded_data_loads():
    """The data sets written for this project pass the strict checks and are as large as the README says."""
    if not list(paths.EMBEDDED.glob("*/*.jsonl")):
        pytest.skip(f"no embedded data in {paths.EMBEDDED}")
    found = catalog.load_embedded()
    assert len(found) >= 3
    assert all(len(lists) >= 2 and all(6 <= len(lst) <= 8 for lst in lists) for lists in found.values())
