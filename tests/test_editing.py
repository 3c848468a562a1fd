"""A run's edits, with a tiny decoder in a folder as the model that STS is optimised on."""

import pytest

from geobench import catalog, paths, run
from geobench.catalog import Selected
from geobench.editing import make_edits
from geobench.params import load
from geobench.records import read_fingerprint


@pytest.fixture
def work(tmp_path, monkeypatch, tiny_model, cameras):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    values = {"optimised_on": tiny_model("llama").spec.weights, "sts_tokens": 3, "sts_steps": 1, "sts_candidates": 2}
    made = run.Run(tmp_path / "r", load("smoke", values))
    catalog.write_catalog(made.folder / "catalog.jsonl", [Selected(cameras, (1, 3))])
    return made


def test_sts_is_named_for_its_model_and_resumes(work):
    (variant,) = make_edits(work, ["sts"])
    assert variant == "sts__" + work.params.optimised_on.split("/")[-1]  # a folder's name, never its path
    rows = work.edits()[variant]
    assert [r["target"] for r in rows] == [1, 3] and all(r["method"] == "sts" and len(r["trace"]) == 2 for r in rows)
    assert rows[0]["text"] == "A bright lens. " + rows[0]["suffix"]
    file = work.folder / "edits" / f"{variant}.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:2]))
    make_edits(work, ["sts"])
    assert {r["target"]: r["text"] for r in work.edits()[variant]} == {r["target"]: r["text"] for r in rows}
    assert file.read_text().startswith("".join(lines[:2]))


def test_a_checkpoint_is_resumed_only_under_its_own_parameters(work, monkeypatch):
    from geobench.attacks import optimise, sts

    monkeypatch.setattr(optimise.time, "monotonic", iter(range(0, 10**6, 10)).__next__)  # every step is worth saving
    real, steps = sts.step, []

    def dies(problem, state, number):
        if len(steps) == 2:
            raise KeyboardInterrupt
        steps.append(number)
        return real(problem, state, number)

    def killed(**values):
        steps.clear()
        monkeypatch.setattr(sts, "step", dies)
        with pytest.raises(KeyboardInterrupt):
            make_edits(run.Run(work.folder, load("smoke", work.params.model_dump() | {"sts_steps": 9} | values)), ["sts"])
        return list(steps)

    assert killed() == [0, 1] and killed() == [2, 3]  # goes on
    for file in (work.folder / "edits").glob("*.jsonl"):
        file.unlink()
    assert killed(sts_top_k=2) == [0, 1]  # other parameters start anew


def test_force_clears_checkpoints(work, tmp_path):
    from geobench.clearing import clear

    file = work.folder / "edits" / ".checkpoints" / "sts__m" / "x" / "1.safetensors"
    file.parent.mkdir(parents=True)
    for kept in (file, work.folder / "edits" / "sts__m.jsonl", work.folder / "edits" / "fluency__m.jsonl"):
        kept.write_text("")
    clear(work.folder, ["02_white_box"])
    assert sorted(f.name for f in (work.folder / "edits").rglob("*") if f.is_file()) == ["fluency__m.jsonl"]


def test_a_method_may_name_its_model():
    from geobench.attacks import named, split
    from geobench.params import load

    p = load("smoke")
    assert split("tap__qwen2.5-14b") == ("tap", "qwen2.5-14b") and split("tap") == ("tap", None)
    assert named(p, "tap__qwen2.5-14b") == ("tap__qwen2.5-14b", "tap", "qwen2.5-14b")
    assert named(p, "fluency") == ("fluency__smollm2-135m", "fluency", "smollm2-135m")
    assert named(p, "injection") == ("injection", "injection", None)


def test_edits_of_all_kinds_of_knowledge_stand_side_by_side(work, monkeypatch):
    from geobench.attacks import optimise

    real, ran = optimise.run, set()

    def seen(module, tasks, engine, ranker, settings, *rest):
        ran.add((module.METHOD, settings.optimisation_prompt, settings.objective, settings.selection))
        return real(module, tasks, engine, ranker, settings, *rest)

    monkeypatch.setattr(optimise, "run", seen)
    made = make_edits(work, ["sts", "sts@own", "sts@deployed", "random_search@own"])
    name = made[0].removeprefix("sts__")
    assert made == [f"sts__{name}", f"sts@own__{name}", f"sts@deployed__{name}", f"random_search@own__{name}"]
    known = {v: read_fingerprint(work.folder / "edits" / f"{v}.jsonl") for v in made}
    told = [[known[v][key] for key in ("optimisation_prompt", "objective", "selection")] for v in made]
    assert told == [["deployed", "attention", "held_out"], ["own", "target", "objective"], ["deployed", "target", "held_out"],
                    ["own", "target", "objective"]]  # fmt: skip
    assert ran == {(v.split("@")[0].split("__")[0], *row) for v, row in zip(made, told, strict=True)}  # searched as they say
    found = work.edits()
    assert [[row["method"] for row in found[v]] for v in made] == [["sts"] * 2] * 3 + [["random_search"] * 2]
