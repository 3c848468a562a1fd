import pandas as pd
import pytest
import yaml

from geobench.catalog import Selected, catalog_sha, write_catalog
from geobench.errors import GeoBenchError
from geobench.leaderboard import find, leaderboard, places
from geobench.lists import Item, RankList
from geobench.records import Records
from geobench.run import sha

ORDERS = [[0, 1, 2, 3, 4]]


def lists(count=4):
    items = tuple(Item(f"N{i}", f"text {i}") for i in range(5))
    return [Selected(RankList("d", f"l{n}", "thing", items), (5,)) for n in range(count)]


def make(folder, variants, seed=0, chosen=None):
    """A submitted run: item 5 of each list (last of five when clean) ends at the given place, per variant."""
    chosen = chosen or lists()
    write_catalog(folder / "catalog.jsonl", chosen)
    (folder / "params.yaml").write_text(yaml.safe_dump({"main_ranker": "bm25"}))
    shown = {"kind": "ranks", "catalog": catalog_sha(chosen), "ranker": {"read_out": "bm25"}, "orders": 1, "own": False, "seed": seed}
    keys = [{"dataset": s.list.dataset, "list": s.list.name} for s in chosen]
    with Records(folder / "ranks" / "bm25" / "clean.jsonl", shown | {"variant": "clean"}) as book:
        for key in keys:
            book.append(key | {"target": None, "orders": ORDERS, "ranks": [[1, 2, 3, 4, 5]]})
    for variant, ends in variants.items():
        with Records(folder / "edits" / f"{variant}.jsonl", {"kind": "edits"}) as book:
            for key in keys:
                book.append(key | {"target": 5, "variant": variant, "text": variant})
        with Records(folder / "ranks" / "bm25" / f"{variant}.jsonl", shown | {"variant": variant}) as book:
            for key, end in zip(keys, ends):
                book.append(key | {"target": 5, "orders": ORDERS, "ranks": [end], "text_sha": sha(variant)})
    return str(folder)


def test_runs_are_merged_and_ranked_per_threat_model(tmp_path):
    ours = make(tmp_path / "ours", {"injection": [1, 1, 1, 1], "tap__m": [3, 3, 3, 1]})
    theirs = make(tmp_path / "theirs", {"injection": [1, 1, 1, 1], "external__new": [5, 5, 5, 5], "zero_shot__m": [5, 5, 5, 5]})
    page = leaderboard([ours, theirs], tmp_path / "out")
    black = pd.read_csv(tmp_path / "out" / "black-box.csv")
    assert list(black["variant"]) == ["tap__m", "zero_shot__m"] and list(black["place"]) == [1, 2]
    assert list(black["nrg"]) == [0.625, 0.0] and list(black["run"]) == ["ours", "theirs"]
    assert 0.5 <= black["nrg_lo"][0] < 0.625 < black["nrg_hi"][0] <= 1
    every = pd.read_csv(tmp_path / "out" / "leaderboard.csv")
    assert list(every["threat"]) == ["black-box", "black-box", "control", "external"]  # the shared injection comes once
    assert "zero_shot__m" in page.read_text()


def test_a_variant_with_other_ranks_is_told_apart(tmp_path):
    runs = [make(tmp_path / "a", {"injection": [1, 1, 1, 1]}), make(tmp_path / "b", {"injection": [2, 2, 2, 2]})]
    leaderboard(runs, tmp_path / "out")
    assert list(pd.read_csv(tmp_path / "out" / "control.csv")["variant"]) == ["injection", "injection @b"]


def test_equal_means_share_a_place(tmp_path):
    leaderboard([make(tmp_path / "a", {"injection": [1, 1, 1, 1], "padding": [1, 1, 1, 1]})], tmp_path / "out")
    control = pd.read_csv(tmp_path / "out" / "control.csv")
    assert list(control["place"]) == [1, 1] and list(control["places"]) == [1, 1]


def test_another_protocol_is_refused_and_named(tmp_path):
    runs = [make(tmp_path / "a", {"injection": [1, 1, 1, 1]}), make(tmp_path / "b", {"injection": [1, 1, 1, 1]}, seed=7)]
    with pytest.raises(GeoBenchError, match=r"`a` and `b` .* different protocols \(seed: 0 -> 7\)"):
        leaderboard(runs, tmp_path / "out")


def test_other_lists_are_refused(tmp_path):
    runs = [make(tmp_path / "a", {"injection": [1, 1, 1, 1]}), make(tmp_path / "b", {"injection": [1, 1, 1]}, chosen=lists(3))]
    with pytest.raises(GeoBenchError, match="different protocols .*catalog"):
        leaderboard(runs, tmp_path / "out")


def test_a_catalog_that_was_not_ranked_is_refused(tmp_path):
    run = make(tmp_path / "a", {"injection": [1, 1, 1, 1]})
    write_catalog(tmp_path / "a" / "catalog.jsonl", lists(3))
    with pytest.raises(GeoBenchError, match="are not those ranked"):
        leaderboard([run], tmp_path / "out")


def test_unknown_run(tmp_path):
    with pytest.raises(GeoBenchError, match="no run `.*nothing` \\(a folder with catalog.jsonl\\)"):
        leaderboard([str(tmp_path / "nothing")], tmp_path / "out")


def test_a_released_run_says_why_it_cannot_enter(tmp_path):
    (tmp_path / "released_per_target.csv").write_text("variant\n")
    with pytest.raises(GeoBenchError, match="holds released records: .*no protocol that another run could share; .*released_intervals.csv"):
        find(str(tmp_path))


def test_text_from_submissions_is_escaped(tmp_path):
    run = make(tmp_path / "<b>", {"external__<i>": [1, 1, 1, 1]})
    page = leaderboard([run], tmp_path / "out").read_text()
    assert "<i>" not in page and "external__&lt;i&gt;" in page and "&lt;b&gt;" in page


def test_places_are_a_range_where_lists_disagree():
    rows = [{"dataset": "d", "list": f"l{n}", "target": 1, "variant": v, "nrg": g}
            for v, gains in {"a": [1, 0, 1, 0], "b": [0, 1, 0, 1], "c": [-1, -1, -1, -1]}.items() for n, g in enumerate(gains)]  # fmt: skip
    assert places(pd.DataFrame(rows)) == {"a": "1 to 2", "b": "1 to 2", "c": "3"}
