import http.server
import json
import os
import threading
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from geobench import paths, sources
from geobench.errors import GeoBenchError
from geobench.sources import content_sha, fields, load_public, missing_lists, public_datasets

MIRROR = Path(os.environ.get("GEOBENCH_DATA_MIRROR") or paths.ROOT / ".." / "shared" / "data").resolve()
needs_mirror = pytest.mark.skipif(
    not (MIRROR / "catalogs").is_dir(),
    reason=f"public data not found in {MIRROR}: set GEOBENCH_DATA_MIRROR to the folder that holds catalogs/",
)
SHORT = pytest.mark.filterwarnings("ignore:rewrite_to_rank. 2 of 20 lists are missing")


@pytest.fixture(autouse=True)
def no_outside(monkeypatch):
    """Tests see no mirror but their own, and downloads go nowhere unless a test says where."""
    monkeypatch.delenv("GEOBENCH_DATA_MIRROR", raising=False)
    monkeypatch.setenv("GEOBENCH_DATA_URL", "http://127.0.0.1:9")  # the discard port: refused at once
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


# ---- the real data sets, in the mirror ----


@needs_mirror
@SHORT
@pytest.mark.parametrize(
    "name, lists, items",
    [
        ("ragroll", 50, 399),
        ("stsdata", 3, 30),
        ("llm_rank_optimizer", 4, 40),
        ("rewrite_to_rank", 18, 180),
        ("cseo", 6, 60),
    ],
)
def test_counts(monkeypatch, tmp_path, name, lists, items):
    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", str(MIRROR))
    loaded = load_public(name, cache_dir=tmp_path)
    assert (len(loaded), sum(map(len, loaded))) == (lists, items)
    source = public_datasets()[name]
    assert source.lists == len(source.files) == lists + len(missing_lists(name, loaded))
    assert [lst.name for lst in loaded] == [
        lst for lst in source.files if lst in {have.name for have in loaded}
    ]
    assert not list(tmp_path.iterdir())  # nothing was downloaded


RECORDS = {  # first, tenth and last item: list, name and the SHA-256 of the description
    "ragroll": [
        ("air compressor", "Porter-Cable", "a53b230260b85997"),
        ("air purifier", "AEG", "f203ee4064ec426c"),
        ("wood router", "Bosch", "2a1470fce176ddf7"),
    ],
    "stsdata": [
        ("books", "The Great Adventure", "cfbaeaf9a7f24ffb"),
        ("books", "The Lost Expedition", "2e22ed871f55be20"),
        ("coffee_machines", "CafePro Elite", "81d68c77ee1ac401"),
    ],
    "rewrite_to_rank": [
        ("Apparel", "Operation Gridlock Caution Sign Adult Unisex Hoodie", "f1b91f3bea1762ed"),
        ("Apparel", "Rare Vintage 90s Serial Killer Tee T - Shirt Kalifornia Supreme", "b4885b0ac1c66a9d"),
        ("Womens Clothing", "Nike Womens Varsity Fleece Jogger Pant, Size X-Large, Gray", "a6b667dbe89a7891"),
    ],
    "llm_rank_optimizer": [
        ("books", "The Great Adventure", "1eea1fdab1f95950"),
        ("books", "The Lost Expedition", "626bc073e8edcaaf"),
        (
            "election_articles",
            "As she is poised to be the Democratic nominee, here are 5 facts about Kamala Harris",
            "2c47fc41c5de88b9",
        ),
    ],
    "cseo": [
        ("books", "Counternarratives", "936e36c049049021"),
        ("books", "Class Struggle Or Family Struggle?", "46e3d990b0ca128e"),
        ("web", "document10", "4f0f13c014b0f6e7"),
    ],
}


@needs_mirror
@SHORT
@pytest.mark.parametrize("name", RECORDS)
def test_records(monkeypatch, name):
    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", str(MIRROR / "catalogs"))  # the folder itself is accepted too
    items = [(lst.name, item) for lst in load_public(name) for item in lst.items]
    got = [items[0], items[9], items[-1]]
    assert [(lst, i.name, sha256(i.description.encode()).hexdigest()[:16]) for lst, i in got] == RECORDS[name]


@needs_mirror
@SHORT
def test_lists_and_nouns_are_those_of_the_release(monkeypatch):
    import csv

    with open(MIRROR / "reference" / "samples" / "lists_83.csv", encoding="utf-8") as file:
        rows = {
            (row["dataset"], row["category"]): (int(row["L"]), row["query_noun"])
            for row in csv.DictReader(file)
        }
    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", str(MIRROR))
    ours = {(lst.dataset, lst.name): (len(lst), lst.noun) for name in RECORDS for lst in load_public(name)}
    assert {key: rows[key] for key in ours} == ours
    assert {(name, lst) for name, source in public_datasets().items() for lst in source.files} == set(rows)


@needs_mirror
def test_missing_lists_are_a_note(monkeypatch):
    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", str(MIRROR))
    with pytest.warns(UserWarning, match="2 of 20 lists are missing: Education, Vitamins & Supplements"):
        lists = load_public("rewrite_to_rank")
    assert missing_lists("rewrite_to_rank", lists) == ["Education", "Vitamins & Supplements"]


def test_registry():
    total = [(source.lists, source.items) for source in public_datasets().values()]
    assert tuple(map(sum, zip(*total, strict=True))) == (83, 729)
    for source in public_datasets().values():
        assert len(source.commit) == 40 and source.licence and source.converter in sources.CONVERTERS
        pins = [pin for pin in source.files.values() if pin]
        assert all(len(pin) == 1 and len(*pin.values()) == 64 for pin in pins)
        assert len(source.files) - len(pins) == (2 if source.name == "rewrite_to_rank" else 0)


def test_nothing_to_be_had(tmp_path):
    with pytest.raises(GeoBenchError) as error:
        load_public("ragroll", cache_dir=tmp_path)
    message = str(error.value)
    assert "ragroll: list `air compressor` is not in GEOBENCH_DATA_MIRROR (not set)" in message
    assert "catalogs/ragroll/air compressor.jsonl, or run: curl -fL --create-dirs -o" in message
    assert "data2/ragroll/air%20compressor.jsonl" in message and "\n" not in message
    with pytest.raises(GeoBenchError, match="Did you mean `cseo`?"):
        load_public("c-seo")


# ---- a data set of our own, in a mirror or behind a web server ----

ROWS = [{"Name": "Oak Desk", "Natural": "Solid, schön."}, {"Name": "Pine Desk", "Natural": "Light."}]
LF = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()
CRLF = "".join(json.dumps(row) + "\r\n" for row in ROWS).encode()
FOLDER = "someone/desks/0123456789abcdef0123456789abcdef01234567/data/lists"


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """sources.yaml with the data set `desks`: lists pinned by bytes, by content, not at all."""
    repository, commit, path = FOLDER[:13], FOLDER[14:54], FOLDER[55:]
    entry = {
        "title": "Desks",
        "repository": repository,
        "commit": commit,
        "path": path,
        "licence": "MIT",
        "note": "",
    }
    entry |= {"mirror": "office", "converter": "natural", "lists": 3, "items": 6}
    pins = ({"sha256": sha256(LF).hexdigest()}, {"content_sha256": content_sha(ROWS)}, {})
    entry["files"] = dict(zip(("oak & pine", "by content", "unseen"), pins, strict=True))
    file = tmp_path / "sources.yaml"
    file.write_text(
        yaml.safe_dump({"base": "http://127.0.0.1:9", "datasets": {"desks": entry}}, sort_keys=False)
    )
    monkeypatch.setattr(paths, "SOURCES", file)
    sources._registry.cache_clear()
    yield
    sources._registry.cache_clear()


@pytest.fixture
def server(tmp_path):
    """Local web server: address as `.url`, the folder of `desks` as `.folder`, requests as `.asked`."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    root = tmp_path / "web"
    (root / FOLDER).mkdir(parents=True)
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(root)))
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    httpd.url, httpd.folder, httpd.asked = f"http://127.0.0.1:{httpd.server_port}", root / FOLDER, asked
    yield httpd
    httpd.shutdown()
    httpd.server_close()


def put(folder, changes=()):
    """Write the three files, `changes` in place of some; a file whose content is None is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in ({"oak & pine": LF, "by content": CRLF, "unseen": LF} | dict(changes)).items():
        if content is not None:
            (folder / f"{name}.jsonl").write_bytes(content)


def test_download_then_cache(registry, server, tmp_path, monkeypatch):
    put(server.folder)
    lists = load_public("desks", base_url=server.url, cache_dir=tmp_path / "cache")
    assert [lst.key for lst in lists] == ["desks/oak & pine", "desks/by content", "desks/unseen"]
    assert {lst.items[0].description for lst in lists} == {"Solid, schön."}
    assert len(server.asked) == 3
    assert (tmp_path / "cache" / "desks" / "01234567" / "by content.jsonl").read_bytes() == CRLF
    monkeypatch.setenv("GEOBENCH_DATA_URL", server.url)
    assert load_public("desks", cache_dir=tmp_path / "cache") == lists
    assert len(server.asked) == 3  # all from the cache
    assert load_public("desks", cache_dir=tmp_path / "other") == lists
    assert len(server.asked) == 6  # GEOBENCH_DATA_URL was asked


@pytest.mark.parametrize(
    "name, wrong", [("oak & pine", CRLF), ("by content", LF[:-40]), ("by content", LF[:60] + b"\n")]
)
def test_download_of_other_content(registry, server, tmp_path, name, wrong):
    put(server.folder, {name: wrong})
    with pytest.raises(GeoBenchError) as error:
        load_public("desks", base_url=server.url, cache_dir=tmp_path / "cache")
    assert "not the pinned" in str(error.value) and server.url in str(error.value)
    assert not (tmp_path / "cache" / "desks" / "01234567" / f"{name}.jsonl").exists()
    put(server.folder)
    assert len(load_public("desks", base_url=server.url, cache_dir=tmp_path / "cache")) == 3


def test_download_of_a_pinned_file_that_is_gone(registry, server, tmp_path):
    put(server.folder, {"by content": None})
    with pytest.raises(GeoBenchError, match="desks: list `by content` is not in .*404 .*or run: curl -fL"):
        load_public("desks", base_url=server.url, cache_dir=tmp_path / "cache")


def test_download_of_an_unpinned_file_that_is_gone(registry, server, tmp_path):
    put(server.folder, {"unseen": None})
    with pytest.warns(UserWarning, match="desks: 1 of 3 lists are missing: unseen"):
        lists = load_public("desks", base_url=server.url, cache_dir=tmp_path / "cache")
    assert [lst.name for lst in lists] == ["oak & pine", "by content"]


def test_impossible_url(registry, tmp_path):
    with pytest.raises(GeoBenchError, match="cannot be downloaded"):
        load_public("desks", base_url="nowhere", cache_dir=tmp_path)


@pytest.mark.parametrize("name", ["oak & pine", "by content"])
def test_damaged_cache_is_replaced(registry, server, tmp_path, name):
    put(server.folder)
    put(tmp_path / "cache" / "desks" / "01234567", {name: LF[:50]})
    assert len(load_public("desks", base_url=server.url, cache_dir=tmp_path / "cache")) == 3
    assert len(server.asked) == 1


def test_mirror_comes_first_and_fills_up_from_the_network(registry, server, tmp_path, monkeypatch):
    put(server.folder)
    put(tmp_path / "mirror" / "office", {"oak & pine": None, "unseen": None})
    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", str(tmp_path / "mirror"))
    with pytest.warns(UserWarning, match="missing: unseen"):  # unpinned: not looked for beyond the mirror
        lists = load_public("desks", base_url=server.url, cache_dir=tmp_path / "cache")
    assert [lst.name for lst in lists] == ["oak & pine", "by content"]
    assert server.asked == [f"/{FOLDER}/oak%20%26%20pine.jsonl"]


def test_mirror_with_other_content(registry, tmp_path, monkeypatch):
    put(tmp_path / "catalogs" / "office", {"oak & pine": CRLF})
    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", str(tmp_path))
    with pytest.raises(
        GeoBenchError, match="oak & pine.jsonl: not the pinned content, expected sha256 .* got"
    ):
        load_public("desks")
    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", str(tmp_path / "absent"))
    with pytest.raises(GeoBenchError, match="GEOBENCH_DATA_MIRROR: expected a folder, got"):
        load_public("desks")


# ---- converters ----


@pytest.mark.parametrize(
    "row, pair",
    [
        (
            {"Name": "A", "Author": "B", "Description": "C.", "Rating": 4.0},
            ("A", "Author: B; Description: C.; Rating: 4.0"),
        ),
        ({"name": "A", "description": "C.", "price": 3}, ("A", "C.")),
        ({"Name": "A", "Natural": "N.", "description": "C."}, ("A", "N.")),
        ({"Name": "A", "description": "", "URL": "x"}, ("A", "description: ; URL: x")),
        ({"title": "A"}, ("", "title: A")),
    ],
)
def test_fields(row, pair):
    assert fields(row) == pair


def test_content_sha_is_of_content():
    assert content_sha([{"a": "ö", "b": 1}]) == content_sha(json.loads('[{"b": 1, "a": "\\u00f6"}]'))
    assert content_sha([{"a": "ö"}]) != content_sha([{"a": "o"}])
