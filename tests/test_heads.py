"""Heads files: what is refused, what of them counts for a result, and that a file of all heads is no file."""

import copy
from dataclasses import replace

import pytest
import torch
import yaml

from geobench import heads
from geobench.errors import GeoBenchError
from geobench.kernels import decoder
from geobench.kernels.readout import read_out
from geobench.models import ModelSpec

SPEC = ModelSpec(name="tiny", weights="path:/models/tiny", read_outs=("attention",))
FAMILIES = ["llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(heads, "FOLDER", tmp_path)
    return tmp_path


def row(layer: int, head: int, weight: float = 1.0) -> dict:
    return {"layer": layer, "head": head, "weight": weight, "relevance": 0.7, "w": 0.8, "places": 0.1}


def written(rows: list[dict], spec: ModelSpec = SPEC, **other) -> heads.HeadFile:
    """The spec's heads file, in which `other` stands instead of what fits the spec."""
    made = heads.HeadFile.model_validate({**heads.weights_of(spec), "chosen": {}, "heads": rows} | other)
    heads.write(spec, made)
    return made


def built(kind: str):
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(3)
    sizes = dict(vocab_size=300, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2)
    experts = {
        "mixtral": {"num_local_experts": 4},
        "qwen3_moe": {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
    }.get(kind, {})
    return AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **sizes, **experts)).eval()


def test_the_families_are_all_that_the_kernels_support():
    assert sorted(decoder.FAMILIES) == FAMILIES


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_file_of_all_heads_reads_what_no_file_and_the_models_own_attentions_do(kind):
    model, ids, query, neutral = built(kind), list(range(10, 34)), [5, 6], [7, 8, 9]
    without = heads.heads_of(SPEC, model)
    written([row(layer, head) for layer in (2, 0, 1) for head in (3, 1, 0, 2)])
    plain = copy.deepcopy(model)
    plain.set_attn_implementation("eager")
    with torch.no_grad():
        alone, named = (
            read_out(model, decoder.EMPTY, torch.tensor([ids]), query, neutral, h).difference[0]
            for h in (without, heads.heads_of(SPEC, model))
        )
        own = [
            sum(a[0, :, len(ids) :, : len(ids)].sum(0) for a in plain(torch.tensor([ids + q]), output_attentions=True).attentions).mean(0)
            for q in (query, neutral)
        ]
    assert alone.std() > 1e-4
    torch.testing.assert_close(named, alone, atol=1e-6, rtol=0)
    torch.testing.assert_close(named, own[0] - own[1], atol=1e-5, rtol=0)


def test_the_ranker_sums_the_heads_of_the_file(tiny_model, cameras):
    from geobench.rankers.attention import AttentionRanker
    from geobench.rankers.base import Job

    engine, job = tiny_model("llama"), [Job(cameras, ((2, 0, 1, 3),))]
    both = AttentionRanker("t", engine)
    scores = []
    for rows in ([row(0, 1, 2.0)], [row(1, 3, 0.5)], [row(1, 3, 0.5), row(0, 1, 2.0)]):
        written(rows, engine.spec)
        ranker = AttentionRanker("t", engine)
        scores.append(torch.tensor(next(ranker.rank(job))[1].scores))
    torch.testing.assert_close(scores[2], scores[0] + scores[1], atol=1e-7, rtol=0)
    assert ranker.heads.layers == {0: ([1], [2.0]), 1: ([3], [0.5])} and both.heads == decoder.all_heads(engine.model)


@pytest.mark.parametrize("key, other", [("model", "huge"), ("weights", "path:/models/other"), ("revision", "b6"), ("revision", None)])
def test_heads_of_another_model_are_refused(key, other):
    spec = replace(SPEC, revision="a5")
    written([row(0, 0)], spec, **{key: other})
    with pytest.raises(GeoBenchError, match=f"tiny.yaml: expected heads of {key} .*, these are of {other!r}; choose them anew") as error:
        heads.head_file(spec)
    assert "heads --model path:/models/tiny`" in str(error.value)  # what the command takes for a folder


def test_heads_of_another_wheel_are_refused_under_the_models_name():
    from geobench.models import spec

    shipped = spec("smollm2-135m")
    written([row(0, 0)], shipped, revision="0" * 64)
    with pytest.raises(GeoBenchError, match="heads --model smollm2-135m`, or delete the file"):
        heads.identity(shipped)


@pytest.mark.parametrize("layer, head", [(3, 0), (0, 4)])
def test_a_head_that_the_model_lacks(layer, head):
    written([row(0, 0), row(layer, head)])
    with pytest.raises(GeoBenchError, match=f"tiny.yaml: layer {layer}, head {head}, counted from 0: `tiny` has 3 layers of 4 heads"):
        heads.heads_of(SPEC, built("llama"))


def test_a_head_that_stands_there_twice():
    written([row(1, 2), row(0, 0), row(1, 2, 3.0)])
    with pytest.raises(GeoBenchError, match="tiny.yaml: layer 1, head 2 stands there twice"):
        heads.heads_of(SPEC, built("llama"))


DAMAGED = {
    "broken": (b"heads: [", "not valid YAML"), "no utf-8": (b"model: \xff", "not valid YAML"), "no mapping": (b"[1]", "expected a mapping"),
    "empty": (b"", "model: Field required"),
}  # fmt: skip


@pytest.mark.parametrize("damage, said", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file(folder, damage, said):
    (folder / "tiny.yaml").write_bytes(damage)
    with pytest.raises(GeoBenchError, match=f"tiny.yaml: {said}") as error:
        heads.head_file(SPEC)
    assert "\n" not in str(error.value)


def test_a_folder_in_the_files_place(folder):
    (folder / "tiny.yaml").mkdir()
    with pytest.raises(GeoBenchError, match="tiny.yaml: cannot be read"):
        heads.head_file(SPEC)


WRONG = {
    "no heads": ([], "heads: List should have at least 1 item"), "weight 0": ([row(0, 0, 0)], "heads.0.weight: .* greater than 0"),
    "endless": ([row(0, 0, float("inf"))], "heads.0.weight: .* finite"), "no number": ([row(0, 0, float("nan"))], "heads.0.weight"),
    "negative": ([row(0, 0), row(-1, 0)], "heads.1.layer: .* greater than or equal to 0, got '-1'"),
    "unknown key": ([row(0, 0) | {"colour": 1}], "heads.0.colour"), "a text": ([row(0, "first")], "heads.0.head: .* got 'first'"),
}  # fmt: skip


@pytest.mark.parametrize("rows, said", WRONG.values(), ids=WRONG)
def test_wrong_values(folder, rows, said):
    (folder / "tiny.yaml").write_text(yaml.safe_dump({**heads.weights_of(SPEC), "chosen": {}, "heads": rows}))
    with pytest.raises(GeoBenchError, match=f"tiny.yaml: .*{said}"):
        heads.head_file(SPEC)


def test_a_file_comes_back_as_it_was_written(folder):
    made = written([row(1, 2, 3000.81), row(0, 3, 51169400.0)])
    assert heads.head_file(SPEC) == made and [f.name for f in folder.iterdir()] == ["tiny.yaml"]
    assert heads.head_file(replace(SPEC, name="other")) is None


def test_the_identity_follows_heads_and_weights_and_nothing_else():
    assert heads.identity(SPEC) == {}
    shown = []
    for rows in ([row(0, 1), row(1, 2)], [row(1, 2), row(0, 1) | {"w": 0.1}], [row(0, 1), row(1, 3)], [row(0, 1), row(1, 2, 2.0)]):
        written(rows)
        shown.append(heads.identity(SPEC)["heads"])
    assert shown[0] == shown[1] and len(set(shown)) == 3


def test_ranks_under_other_heads_are_not_taken_up(tiny_model, cameras, tmp_path):
    from geobench.rankers import ranker_identity
    from geobench.rankers.attention import AttentionRanker
    from geobench.records import Records

    engine = tiny_model("llama")
    named, without = f"{engine.spec.weights}:attention", AttentionRanker("t", engine).identity()
    own = replace(engine.spec, name=engine.spec.locator.rsplit("/", 1)[-1])  # as `path:FOLDER` names it
    assert "heads" not in without | ranker_identity(named)
    with Records(tmp_path / "ranks.jsonl", without):
        pass
    for spec in (engine.spec, own):
        written([row(0, 1)], spec)
    assert AttentionRanker("t", engine).identity()["heads"] == ranker_identity(named)["heads"]
    assert "heads" not in ranker_identity(named.replace(":attention", ":generate"))
    with pytest.raises(GeoBenchError, match="heads"), Records(tmp_path / "ranks.jsonl", AttentionRanker("t", engine).identity()):
        pass


@pytest.mark.parametrize("objective", ["attention", "target"])
def test_edits_made_for_the_read_out_depend_on_its_heads_and_others_do_not(kitchen_run, monkeypatch, objective):
    from geobench import editing
    from geobench.models import spec
    from geobench.records import read_fingerprint

    monkeypatch.setattr(editing, "run_units", lambda *_: [])
    kitchen_run.params = kitchen_run.params.model_copy(update={"objective": objective, "optimisation_ranker": "bm25"})
    written([row(0, 1)], spec("smollm2-135m"))
    (variant,) = editing.make_edits(kitchen_run, ["random_search"])
    fingerprint = read_fingerprint(kitchen_run.folder / "edits" / f"{variant}.jsonl")
    assert fingerprint.get("heads") == (heads.head_file(spec("smollm2-135m")).digest if objective == "attention" else None)


def test_a_notebook_is_run_again_for_other_heads_and_not_for_other_calibration_lists(tmp_path, monkeypatch):
    from geobench import digests, head_choice, paths
    from geobench.params import load

    params, made, read = load("smoke"), [], []
    monkeypatch.setattr(paths, "PARAMS", tmp_path)
    monkeypatch.setattr(digests, "read", lambda *_: [])
    real = type(tmp_path).read_bytes
    monkeypatch.setattr(type(tmp_path), "read_bytes", lambda file: read.append(file) or real(file))
    monkeypatch.setattr(heads, "FOLDER", tmp_path / "heads")
    for weight in (1.0, 2.0):
        written([row(0, 1, weight)])
        made.append(digests.digest(params, tmp_path / "run", "05_ranking"))
    for name in ("01_data", "02_white_box", "11_search_data"):
        digests.digest(params, tmp_path / "run", name)
    assert made[0] != made[1] and [file for file in read if head_choice.CALIBRATION in file.parents] == []
