"""The choice of heads: figures against scipy and scikit-learn, planted good heads, calibration lists, and the command end to end."""

import json
import os
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import yaml

from geobench import catalog, head_choice, heads, paths
from geobench.__main__ import main
from geobench.errors import GeoBenchError
from geobench.head_choice import Calibration, choose, figures, left_out, load_calibration, mean_figures
from geobench.lists import make_list
from geobench.models import spec

MIRROR = Path(os.environ.get("GEOBENCH_DATA_MIRROR") or paths.ROOT / ".." / "shared" / "data").resolve()
NAMES = ["Brill", "Corvo", "Dunnet", "Elke", "Fjord", "Gant"]


def write_list(folder: Path, noun: str, names: list[str], key: str = "Name") -> None:
    folder.mkdir(exist_ok=True)
    rows = [{key: name, "Natural": f"The {name} {noun} is number {n}."} for n, name in enumerate(names, 1)]
    (folder / f"{noun}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def two(tmp_path):
    """A folder of two tiny lists of three items each."""
    write_list(tmp_path / "lists", "loom", NAMES[:3])
    write_list(tmp_path / "lists", "oar", NAMES[3:])
    return tmp_path / "lists"


# ---- figures ----


@pytest.mark.parametrize("tied", [False, True])
def test_figures_are_those_of_scipy_and_scikit_learn(tied):
    from scipy.stats import spearmanr
    from sklearn.metrics import roc_auc_score

    from geobench.orders import kendalls_w

    rng, own = np.random.default_rng(5), 6
    orders = np.array([rng.permutation(9) for _ in range(4)])
    scores = rng.integers(0, 5, (7, 4, 9)).astype(float) if tied else rng.normal(size=(7, 4, 9))
    answers, shown = np.arange(9) < own, np.argsort(orders, axis=1)  # shown[k, i]: where order k shows item i
    for n, (relevance, w, places) in enumerate(figures(scores, orders, own).T):
        assert relevance == pytest.approx(np.mean([roc_auc_score(answers, row) for row in scores[n]]))
        assert w == pytest.approx(kendalls_w(-scores[n, :, :own]))
        assert places == pytest.approx(np.mean([spearmanr(-row[:own], at[:own]).statistic for row, at in zip(scores[n], shown)]))


def test_figures_of_a_head_that_follows_the_prompt_and_of_one_that_tells_nothing_apart():
    orders = [[0, 1, 2, 3], [2, 0, 3, 1], [1, 2, 0, 3]]
    first_shown = -np.argsort(orders, axis=1).astype(float)  # what is shown first scores highest
    found = figures(np.stack([first_shown, -first_shown, np.zeros((3, 4))]), orders, 3)
    assert found[2].tolist() == pytest.approx([1, -1, 0]) and found[:2, 2].tolist() == [0.5, 0]


# ---- choice ----


def study(lists: int = 6, k: int = 5, noise: float = 1.0, seed: int = 2):
    """What `head_scores` gives of ten heads: 3 and 7 know the items (7 is a thousand times louder), 1 reads places, 5 is flat."""
    rng, found, made = np.random.default_rng(seed), [], []
    for n in range(lists):
        orders = np.array([rng.permutation(9) for _ in range(k)])
        worth = np.r_[rng.permutation(6) + 3.0, -3.0, -2.0, -1.0]
        scores = rng.normal(size=(k, 10, 9))
        scores[:, 1] = -np.argsort(orders, axis=1)
        scores[:, 3] = worth + noise * rng.normal(size=(k, 9))
        scores[:, 5] = 0.25
        scores[:, 7] = 1000 * (worth + noise * rng.normal(size=(k, 9)))
        found.append((orders, scores))
        made.append(Calibration(make_list("t", f"list {n}", None, [(f"item {i}", "x") for i in range(9)]), 6))
    return found, made


@pytest.mark.parametrize("seed", range(5))
def test_the_planted_good_heads_are_found(seed):
    found, lists = study(seed=seed)
    assert sorted(choose(found, lists, 2)) == [3, 7]
    together, best, everything = (
        mean_figures(found, lists, head_choice.weights_of(found), chosen)[:, 0]
        for chosen in ([3, 7], choose(found, lists, 1), list(range(10)))
    )
    assert together[1] > max(best[1], everything[1]) and together[0] == 1


def test_the_choice_is_the_same_again_and_its_first_heads_do_not_depend_on_how_many_follow():
    found, lists = study()
    chosen = choose(found, lists, 6)
    assert choose(*study(), 6) == chosen and choose(found, lists, 3) == chosen[:3] and len(set(chosen)) == 6


def test_a_head_that_tells_nothing_apart_has_no_weight_and_is_never_chosen():
    found, lists = study()
    weights = head_choice.weights_of(found)
    assert weights[5] == 0 and weights[3] / weights[7] == pytest.approx(1000, rel=0.1)
    assert sorted(choose(found, lists, 10)) == [0, 1, 2, 3, 4, 6, 7, 8, 9]


def test_adding_a_head_is_what_choosing_it_gives():
    found, lists = study()
    weights = head_choice.weights_of(found)
    also = mean_figures(found, lists, weights, [3], also=True)
    assert also[:, 7] == pytest.approx(mean_figures(found, lists, weights, [3, 7])[:, 0])


def test_left_out_lists_have_no_say():
    found, lists = study(lists=3)
    rest = [mean_figures(found[n : n + 1], lists[n : n + 1], np.eye(10)[3] + np.eye(10)[7] / 1000, [3, 7])[:, 0] for n in range(3)]
    assert left_out(found, lists, 2)[:, 0] == pytest.approx(np.mean(rest, axis=0), abs=0.02)
    found[0][1][:, [3, 7]] *= -1  # good heads elsewhere, bad in this list: it is judged by them
    assert left_out(found, lists, 2)[0, 0] == pytest.approx(2 / 3)


# ---- calibration lists ----


def test_planted_items_stand_at_the_end(two):
    (loom, oar) = load_calibration(two)
    assert [one.list.noun for one in (loom, oar)] == ["loom", "oar"] and loom.own == oar.own == 3
    assert [i.name for i in loom.list.items[:3]] == NAMES[:3] and {i.name for i in loom.list.items[3:]} == set(NAMES[3:])
    assert "oar is number" in loom.list.items[3].description


def test_a_brand_of_two_lists_is_planted_in_neither_of_them(two):
    write_list(two, "oar", ["BRILL", "Elke"])
    loom, oar = load_calibration(two)
    assert [i.name for i in loom.list.items[3:]] == ["Elke"] and "Brill" not in [i.name for i in oar.list.items[2:]]
    write_list(two, "oar", ["corvo", "brill"])
    with pytest.raises(GeoBenchError, match="calibration list `loom`: the other lists have no items of other names to plant in it"):
        load_calibration(two)


def test_the_digest_follows_every_text(two):
    before = head_choice.digest(load_calibration(two))
    assert head_choice.digest(load_calibration(two)) == before
    (two / "oar.jsonl").write_text((two / "oar.jsonl").read_text().replace("number 2", "number 4"))
    assert head_choice.digest(load_calibration(two)) != before


WRONG = {
    "one list": ("loom", NAMES[:3], "Name", "lists: expected two calibration lists .* found 1"),
    "an evaluated noun": ("coffee_grinder", NAMES[3:], "Name", "`coffee grinder` stands in the evaluated list `kitchen/coffee"),
    "an evaluated item": ("oar", ["halden DUO", "Elke"], "Name", "oar.jsonl: `halden DUO` stands in the evaluated list `kitchen/coffee"),
    "no Name": ("oar", NAMES[3:], "Title", "oar.jsonl, item 1: expected the texts `Name` and `Natural`, got"),
    "one item": ("oar", ["Elke"], "Name", "calibration/oar`: expected two items or more, got 1"),
    "an item twice": ("oar", ["Elke", "elke"], "Name", "calibration/oar`: items 1 and 2 share the name"),
    "a number": ("oar", [5, 6], "Name", "oar.jsonl, item 1: expected the texts"),
}  # fmt: skip


@pytest.mark.parametrize("noun, names, key, said", WRONG.values(), ids=WRONG)
def test_lists_that_are_refused(tmp_path, noun, names, key, said):
    write_list(tmp_path / "lists", "loom", NAMES[:3])
    write_list(tmp_path / "lists", noun, names, key)
    with pytest.raises(GeoBenchError, match=said) as error:
        load_calibration(tmp_path / "lists")
    assert "\n" not in str(error.value)


# ---- what is shipped ----


def names_of(lists) -> set[str]:
    return {name.casefold() for lst in lists for name in (lst.noun, *(item.name for item in lst.items))}


def own_lists():
    return [make_list("own", one.list.name, one.list.noun, one.list.items[: one.own]) for one in load_calibration(head_choice.CALIBRATION)]


def test_the_shipped_lists():
    lists = own_lists()
    assert len(lists) == 24 and sorted(map(len, lists)) == [5] * 11 + [6] * 5 + [8] * 8
    assert sum(all(lst.noun in item.description.casefold() for item in lst.items) for lst in lists) == 8  # like a catalog
    assert names_of(lists) & names_of(lst for found in catalog.load_embedded().values() for lst in found) == set()
    planted = [len(one.list) - one.own for one in load_calibration(head_choice.CALIBRATION)]
    assert sorted(planted) == [3] + [head_choice.PLANTED] * 23  # `Calder` is drawn from two lists for one


@pytest.mark.skipif(not (MIRROR / "catalogs").is_dir(), reason=f"public data not found in {MIRROR}: set GEOBENCH_DATA_MIRROR")
@pytest.mark.filterwarnings("ignore:rewrite_to_rank. 2 of 20 lists are missing")
def test_the_shipped_lists_share_nothing_with_public_ones(monkeypatch, tmp_path):
    from geobench.sources import load_public, public_datasets

    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", str(MIRROR))
    public = [lst for name in public_datasets() for lst in load_public(name, cache_dir=tmp_path)]
    assert len(public) == 81 and names_of(own_lists()) & names_of(public) == set()


@pytest.mark.parametrize("file", sorted(heads.FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_shipped_heads_were_chosen_for_the_models_weights_on_the_lists_as_they_are(file):
    found = heads.head_file(spec(file.stem))
    assert found.chosen["calibration"] == head_choice.digest(load_calibration(head_choice.CALIBRATION)), "choose the heads anew"
    assert found.chosen["lists"] == 24 and len({(head.layer, head.head) for head in found.heads}) == len(found.heads) == 8


# ---- the command ----


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(heads, "FOLDER", tmp_path / "params" / "heads")
    return tmp_path / "params" / "heads"


def command(engine, *more: str) -> int:
    return main(["heads", "--model", f"path:{engine.spec.locator}", *more])


def test_the_command_end_to_end(tiny_model, two, folder, capsys):
    from geobench.rankers import open_ranker, ranker_identity
    from geobench.rankers.base import Job

    engine = tiny_model("llama")
    row, name = spec(f"path:{engine.spec.locator}"), f"path:{engine.spec.locator}:attention"
    shown, before = load_calibration(two)[0].list, ranker_identity(name)
    assert command(engine, "--lists", str(two), "--count", "3", "--orders", "2") == 0
    said = capsys.readouterr().out
    (file,) = folder.iterdir()
    assert file == heads.file_of(row) and said.startswith(f"{file}: 3 heads, which need ") and "of 2 layers; on 2 lists:" in said
    assert [line.split()[0] for line in said.splitlines()[1:]] == ["together", "left_out", "all_heads"]
    values = yaml.safe_load(file.read_text())
    assert {key: values[key] for key in ("model", "weights", "revision")} == heads.weights_of(row)
    assert (values["chosen"]["orders"], values["chosen"]["layers"]) == (2, 2)
    found = [(head["layer"], head["head"]) for head in values["heads"]]
    assert len(set(found)) == 3 and set(found) <= set(product(range(2), range(4)))
    ranker = open_ranker(name)
    assert sorted((layer, head) for layer, (numbers, _) in ranker.heads.layers.items() for head in numbers) == sorted(found)
    assert ranker_identity(name) == before | {"heads": heads.head_file(row).digest}
    assert np.ptp(next(ranker.rank([Job(shown, (tuple(range(len(shown))),))]))[1].scores[0]) > 0

    first = file.read_bytes()
    assert command(engine, "--lists", str(two), "--count", "3", "--orders", "2", "--force") == 0 and file.read_bytes() == first
    capsys.readouterr()
    assert command(engine, "--lists", str(two), "--count", "1", "--orders", "2", "--depth", "1") == 2 and file.read_bytes() == first
    assert "has its heads; --force chooses them anew" in capsys.readouterr().err
    assert command(engine, "--lists", str(two), "--count", "1", "--orders", "2", "--depth", "1", "--force") == 0
    assert [head["layer"] for head in yaml.safe_load(file.read_text())["heads"]] == [0]


@pytest.mark.parametrize("content", [b"model: [", b"model: other\nweights: x\nrevision: null\nchosen: {}\nheads: []\n"])
def test_an_unusable_file_does_not_stand_in_the_way_of_its_successor(tiny_model, two, folder, content, capsys):
    engine = tiny_model("llama")
    file = heads.file_of(spec(f"path:{engine.spec.locator}"))
    folder.mkdir(parents=True)
    file.write_bytes(content)
    assert command(engine, "--lists", str(two), "--count", "1", "--orders", "2") == 0
    assert len(heads.head_file(spec(f"path:{engine.spec.locator}")).heads) == 1


def test_scores_are_those_that_the_ranker_gives_with_one_head(tiny_model, two):
    from geobench.kernels.decoder import Heads
    from geobench.rankers.attention import AttentionRanker
    from geobench.rankers.base import Job

    engine, lists = tiny_model("qwen2"), load_calibration(two)
    ranker = AttentionRanker("t", engine)
    for (orders, scores), one in zip(head_choice.head_scores(ranker, lists, 2, 0, 2), lists, strict=True):
        assert scores.shape == (2, 8, len(one.list))
        for n in (1, 6):
            alone = AttentionRanker("t", engine, chosen=Heads({n // 4: ([n % 4], [1.0])}))
            (_, ranking), = alone.rank([Job(one.list, tuple(map(tuple, orders)))])  # fmt: skip
            assert np.allclose(ranking.scores, scores[:, n], atol=1e-7)


ERRORS = {
    "depth 0": (["--depth", "0"], "--depth: `FOLDER` has 2 layers, got 0"),
    "too deep": (["--depth", "3"], "--depth: `FOLDER` has 2 layers, got 3"),
    "count 0": (["--count", "0"], "--count: `FOLDER` has 8 heads in 2 layers, got 0"),
    "too many": (["--count", "5", "--depth", "1"], "--count: `FOLDER` has 4 heads in 1 layers, got 5"),
    "one order": (["--count", "1", "--orders", "1"], "--orders: expected two or more, got 1"),
    "no lists": (["--lists", "/no/such/folder"], "/no/such/folder: expected two calibration lists (*.jsonl) or more, found 0"),
}


@pytest.mark.parametrize("more, said", ERRORS.values(), ids=ERRORS)
def test_what_cannot_be_is_one_line_and_status_2(tiny_model, two, folder, more, said, capsys):
    engine = tiny_model("llama")
    assert command(engine, "--lists", str(two), *more) == 2
    assert capsys.readouterr().err == f"error: {said.replace('FOLDER', Path(engine.spec.locator).name)}\n" and not folder.exists()


@pytest.mark.parametrize("model, said", [
    ("smollm", "unknown model `smollm`"), ("minilm", "ranker `minilm:attention`: `minilm` offers"),
    ("path:/no/such/model", "/no/such/model"),
])  # fmt: skip
def test_a_model_that_cannot_be_read(two, folder, model, said, capsys):
    assert main(["heads", "--model", model, "--lists", str(two)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and said in error and error.count("\n") == 1 and not folder.exists()


def test_a_model_without_kernels(tiny_model, two, folder, capsys):
    assert command(tiny_model("granite"), "--lists", str(two)) == 2
    assert "GraniteForCausalLM is not a Llama-, Qwen2- or Mistral-type decoder" in capsys.readouterr().err


def test_a_model_that_tells_nothing_apart(tiny_model, two, folder, capsys, monkeypatch):
    monkeypatch.setattr(head_choice, "head_scores", lambda *_: [([[0, 1], [1, 0]], np.full((2, 8, 6), np.nan)) for _ in range(2)])
    assert command(tiny_model("llama"), "--lists", str(two)) == 2
    assert "no head of the first 2 layers tells items apart" in capsys.readouterr().err
