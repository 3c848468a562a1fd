"""What a white-box search sees of the ranker's prompt, as a variant: names, searches, the choice of a checkpoint, tables."""

from dataclasses import replace

import pandas as pd
import pytest

from geobench import attacks, edit_workload, variants
from geobench.attacks import KNOWLEDGE, optimise, sts
from geobench.attacks.base import Task
from geobench.catalog import select
from geobench.effect_tables import knowledge_table, model_table
from geobench.errors import GeoBenchError
from geobench.params import load
from geobench.prompts import load_prompt


def test_an_entry_names_method_knowledge_and_model():
    params = load("smoke")
    assert attacks.named(params, "sts@own") == ("sts@own__smollm2-135m", "sts", "smollm2-135m")
    assert attacks.named(params, "sts") == ("sts__smollm2-135m", "sts", "smollm2-135m")
    assert attacks.split("raf@deployed__vicuna-7b") == ("raf", "vicuna-7b")
    assert variants.method_of("sts@own__smollm2-135m") == "sts" and variants.model_of("sts@own__smollm2-135m") == "smollm2-135m"
    assert [attacks.knowledge_of(params, entry) for entry in ("sts", "sts@own", "sts@deployed")] == ["readout", "own", "deployed"]
    paper = load("paper")  # its plain variants are those that transfer
    assert attacks.knowledge_of(paper, "sts") == "own" and {k: getattr(paper, k) for k in KNOWLEDGE["own"]} == KNOWLEDGE["own"]


@pytest.mark.parametrize("entry, said", [
    ("sts@owned", "`sts@owned`: expected one of own, paraphrased, deployed, readout after @, got `owned`. Did you mean `own`?"),
    ("zero_shot@own", "`zero_shot@own`: only white-box methods search under a prompt; `zero_shot` has no @own"),
])  # fmt: skip
def test_a_knowledge_that_a_method_cannot_have_is_refused(entry, said):
    group = "black_box" if entry.startswith("zero") else "white_box"
    with pytest.raises(GeoBenchError) as caught:
        load("smoke", {group: [entry]})
    assert said in str(caught.value)


def test_two_kinds_of_one_method_search_under_their_own_settings(tiny_model, tmp_path):
    from geobench.rankers.pointwise import bm25

    params = load("smoke", {"sts_tokens": 3, "sts_steps": 2, "sts_candidates": 3, "sts_orders": 2, "test_every": 1})
    engine, lst = tiny_model("llama"), select(["kitchen"], None, 1, 0)[0].list
    task = Task(replace(lst, items=tuple(replace(item, description=item.description[:40]) for item in lst.items[:4])), 2)
    seen = {}
    for known in KNOWLEDGE:
        own = attacks.with_knowledge(params, f"sts@{known}")
        scene = optimise.problem(sts, task, engine, own, optimise.vocabulary(engine), 0, {}).scenes[0]
        seen[known] = scene.before
        ((_, edit),) = optimise.run(sts, [task], engine, bm25("bm25"), own, tmp_path / known, {})
        tested = [row for row in edit["trace"] if "ranks" in row]
        key = "objective" if KNOWLEDGE[known]["selection"] == "objective" else "mean_rank"
        best = min(row[key] for row in tested)
        assert edit["suffix"] in {row["suffix"] for row in tested if row[key] == best}
    asks = load_prompt("white_box")
    assert asks["sts"]["items_header"] in seen["own"] and asks["paraphrased"]["items_header"] in seen["paraphrased"]
    assert all(load_prompt("ranking")["system"] in seen[known] for known in ("deployed", "readout"))
    assert not any(load_prompt("ranking")["system"] in seen[known] for known in ("own", "paraphrased"))
    identities = [optimise.identity(sts, attacks.with_knowledge(params, f"sts@{known}")) for known in KNOWLEDGE]
    assert all(a != b for n, a in enumerate(identities) for b in identities[n + 1 :])


def test_the_methods_table_says_what_a_search_saw():
    names = ["sts__m", "sts@own__m", "raf@paraphrased__m", "tap__m", "zero_shot__m"]
    table = variants.methods_table(names, load("smoke")).set_index("variant")["search sees it"]
    assert table.to_dict() == {"sts__m": "yes", "sts@own__m": "no", "raf@paraphrased__m": "no", "tap__m": "yes", "zero_shot__m": "no"}
    ranked = variants.methods_table(["sts__m"], load("smoke", {"optimisation_prompt": "own", "objective": "target"}))
    assert ranked["search sees it"].tolist() == ["in the choice of a checkpoint"]


def test_gain_by_knowledge_is_paired_over_the_weakest():
    gains = {"sts@own__m": (0.0, 0.1, 0.2, 0.1), "sts@deployed__m": (0.3, 0.3, 0.4, 0.4), "sts__m": (0.6, 0.9, 0.8, 0.7)}
    gains["raf__m"] = (0, 0, 0, 0)
    rows = [{"variant": v, "dataset": "d", "list": str(n), "target": 1, "nrg": g} for v, row in gains.items() for n, g in enumerate(row)]
    table = knowledge_table(pd.DataFrame(rows), load("smoke"))
    assert table["knowledge"].tolist() == ["own", "deployed", "readout"]  # raf has one kind
    assert table["gain"].tolist()[1:] == pytest.approx([0.25, 0.65]) and table["against"].tolist() == ["", "own", "own"]
    from scipy import stats

    known = stats.ttest_1samp([0.3, 0.2, 0.2, 0.3], 0)
    assert table.loc[1, "p"] == pytest.approx(known.pvalue)
    assert (table.loc[1, "lo"], table.loc[1, "hi"]) == pytest.approx(known.confidence_interval())
    assert knowledge_table(pd.DataFrame([r for r in rows if r["variant"] == "raf__m"]), load("smoke")).empty
    assert model_table(pd.DataFrame(rows), load("smoke"))["against"].tolist() == [""] * 4  # no method has two models


def test_steps_of_another_objective_are_counted_by_it():
    params = load("smoke", {"white_box": ["sts", "sts@deployed"]})
    chosen = select(params.datasets, None, 1, 0)
    found = {work.what: work for work in edit_workload.editing(params, chosen)}
    readout, deployed = found["sts__smollm2-135m"], found["sts@deployed__smollm2-135m"]
    assert readout.calls == deployed.calls and readout.tokens_in != deployed.tokens_in
