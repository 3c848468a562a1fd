import pytest

from geobench import catalog, run
from geobench.attacks.base import Task
from geobench.editing import make_edits
from geobench.ladder import PARTS
from geobench.ladder_factors import FACTORS
from geobench.ladder_scripts import Scripts, checkpoints, chosen_edits, script_ladders, scripted
from geobench.params import load
from geobench.rankers.attention import AttentionRanker
from geobench.rankers.base import Job, Ranking
from geobench.rankers.generate import GenerateRanker
from geobench.records import Records

PUBLISHED, SHARED = ({name: ends[n] for name, ends in FACTORS.items()} for n in (0, -1))


def test_settings_change_the_prompt_and_nothing_else(tiny_model, cameras):
    engine = tiny_model("llama")
    ranker = AttentionRanker("m:attention", engine)
    job = Job(cameras, ((0, 1, 2, 3),))
    shared, published = (scripted(ranker, config).prompt_text(job, (0, 1, 2, 3))[0] for config in (SHARED, PUBLISHED))
    assert shared == ranker.prompt_text(job, (0, 1, 2, 3))[0] and "1. Alpha One: A bright lens." in shared
    assert '{"Name": "Alpha One", "Description": "A bright lens."}' in published and published.startswith("[INST] <<SYS>>")
    assert "recommend" in scripted(ranker, PUBLISHED).prompt["query"] and ranker.prompt == AttentionRanker("m", engine).prompt
    assert "chat_text" not in vars(engine)  # the shared engine is as it was
    written = scripted(GenerateRanker("m:generate", engine), PUBLISHED)
    assert written.decoding.temperature > 0 and "recommend" in written.messages(job, (0, 1, 2, 3))[1]["content"]


class Fixed:
    """Ranks every list by place, turned by one place per order."""

    order_free = False

    def __init__(self, name):
        self.name, self.prompt, self.engine = name, {}, None

    def identity(self):
        return {"model": "fixed"}

    def rank(self, jobs):
        for job in jobs:
            size = len(job.list)
            yield job, Ranking([[(i + k) % size + 1 for i in range(size)] for k in range(len(job.orders))])


def made(tmp_path, monkeypatch, **values):
    """A run of one list and one target with the controls' edits, and a ranker that ranks by place."""
    base = {"datasets": ["kitchen"], "lists_per_dataset": 1, "ladder_targets": 1, "ladder_variants": ["padding"],
            "ladder_rankers": None, "ladder_lists": None, "ladder_parts": [*PARTS]}  # fmt: skip
    work = run.Run(tmp_path / "r", load("smoke", base | values))
    work.choose()
    make_edits(work, ["injection", "padding"])
    monkeypatch.setattr("geobench.ladder_scripts.open_for", lambda _, name: Fixed(name))
    return work


def test_one_order_is_the_first_of_the_median(tmp_path, monkeypatch):
    work = made(tmp_path, monkeypatch)
    scripts = Scripts(work, "smollm2-135m:attention")
    median, one = scripts.table("padding", SHARED), scripts.table("padding", SHARED | {"orders": "one"})
    assert len(median) == len(one) == 1 and set(median.variant) == {"padding"}
    assert one.r_after[0] == work.tasks[0].target and median.r_after[0] != one.r_after[0]
    file = work.folder / "ladder" / "smollm2-135m.attention" / "numbered-protocol-own.jsonl"
    assert len(file.read_text().splitlines()) == 3  # fingerprint, clean list, one edit; both tables come from it


def test_a_run_without_the_variants_asked_for_says_which_one_it_takes(tmp_path, monkeypatch):
    work = made(tmp_path, monkeypatch, ladder_variants=["tap"])
    with pytest.warns(UserWarning, match="ladder_variants: none of tap is among the run's edits; taking injection"):
        assert [*chosen_edits(work, "smollm2-135m:attention")] == ["injection"]


def test_generated_replies_are_made_for_the_variants_of_that_read_out(tmp_path, monkeypatch):
    work = made(tmp_path, monkeypatch, ladder_variants=["injection", "padding"], generate_variants=["padding", "tap"])
    assert [*chosen_edits(work, "smollm2-135m:attention")] == ["injection", "padding"]
    assert [*chosen_edits(work, "smollm2-135m:generate")] == ["padding"]


def trace(task):
    """An optimised edit of the task with three tested checkpoints, the second of which was best on the held-out orders."""
    found = (("a", 3), ("b", 1), ("c", 2))
    tested = [{"step": n, "suffix": word, "ranks": [rank], "mean_rank": rank} for n, (word, rank) in enumerate(found)]
    place = dict(zip(("dataset", "list", "target"), task.key()))
    return place | {"text": f"{task.item.description} b", "trace": [*tested, {"step": 3, "suffix": "untested"}]}


def test_selection_chooses_among_the_tested_checkpoints(cameras):
    task = Task(cameras, 1)
    texts = {selection: [t[-1] for t in checkpoints(task, trace(task), selection)] for selection in FACTORS["selection"]}
    assert texts == {"best of all": ["a", "b", "c"], "last": ["c"], "held out": ["b"]}
    assert checkpoints(task, {"text": "own"}, "best of all") == ["own"]


def test_the_best_checkpoint_is_that_of_the_best_median(tmp_path, monkeypatch):
    work = made(tmp_path, monkeypatch, ladder_variants=["sts__m"], orders=3)
    task = next(t for t in work.tasks)
    with Records(work.folder / "edits" / "sts__m.jsonl", {"kind": "edits"}) as records:
        records.append(trace(task))
    scripts = Scripts(work, "smollm2-135m:attention")
    clean, *_ = Fixed("x").rank([Job(task.list, scripts.rule.orders(task.list, None))])
    head = dict(zip(("dataset", "list", "target"), task.key()))
    shown = {"orders": [list(o) for o in clean[0].orders]}
    rows = [head | shown | {"target": None, "variant": "clean", "ranks": clean[1].ranks}]
    rows += [head | shown | {"variant": "sts__m", "ranks": ranks} for ranks in ([1, 4, 4], [3, 3, 5], [4, 4, 4])]
    monkeypatch.setattr(scripts, "_records", lambda config: rows)
    assert scripts.table("sts__m", {"orders": "median"}).r_after.tolist() == [3]  # of 4, 3 and 4; the means are 3, 3.67 and 4
    assert scripts.table("sts__m", {"orders": "one"}).r_after.tolist() == [1]


class ByLetter(Fixed):
    """Puts a target whose text ends in `c` first, every other where it was."""

    def rank(self, jobs):
        for job, ranking in super().rank(jobs):
            if (job.text or "").endswith(" c"):
                ranking.ranks[0][job.target - 1] = 1
            yield job, ranking


def test_best_of_all_counts_the_best_rank_under_the_script_itself(tmp_path, monkeypatch):
    work = made(tmp_path, monkeypatch, ladder_variants=["sts__m"], orders=1)
    task = next(t for t in work.tasks)
    with Records(work.folder / "edits" / "sts__m.jsonl", {"kind": "edits"}) as records:
        records.append(trace(task))
    monkeypatch.setattr("geobench.ladder_scripts.open_for", lambda _, name: ByLetter(name))
    monkeypatch.setattr("geobench.ladder_scripts.scripted", lambda ranker, config: ranker)
    table = script_ladders(work)
    assert set(table["texts"]) == {"sts__m"} and set(table["ranker"]) == {"smollm2-135m:attention"}
    first = table[table.part == "from published"].set_index("settings")["nrg"]
    gain = (task.target - 1) / (len(task.list) - 1)
    script = "objects; recommendation; llama-2"
    assert gain > 0 and first[[f"best of all; {script}", f"last; {script}", f"held out; {script}"]].tolist() == [gain, gain, 0]


def test_the_protocols_own_script_takes_the_runs_ranks(tmp_path, monkeypatch):
    """Ranks of the same ranker, text and orders; a text or an order that the run has not ranked is ranked, and so is every other script."""
    work = made(tmp_path, monkeypatch, ladder_variants=["injection", "padding"], ladder_targets=None, targets_per_list=2)
    scripts = Scripts(work, "smollm2-135m:attention")
    (one,) = work.selected
    orders, folder = scripts.rule.orders(one.list, None), work.folder / "ranks" / "smollm2-135m.attention"
    shown = {"kind": "ranks", "ranker": {"model": "fixed"}, "catalog": catalog.catalog_sha(work.selected)}
    head = {"dataset": one.list.dataset, "list": one.list.name, "orders": orders}
    with Records(folder / "clean.jsonl", shown) as records:
        records.append(head | {"target": None, "ranks": [[9] * len(one.list)] * len(orders)})
    first, second = (next(r for r in work.edits()["padding"] if r["target"] == t) for t in sorted(one.targets))
    with Records(folder / "padding.jsonl", shown) as records:
        said = {"status": ["ok"] * len(orders), "replies": ["1. A"] * len(orders), "finish": ["stop"] * len(orders)}
        records.append(head | {"target": first["target"], "text_sha": run.sha(first["text"]), "ranks": [7] * len(orders)} | said)
        records.append(head | {"target": second["target"], "text_sha": "of an older text", "ranks": [7] * len(orders)})
    with Records(folder / "injection.jsonl", shown | {"ranker": {"model": "another"}}) as records:
        text = next(r["text"] for r in work.edits()["injection"] if r["target"] == first["target"])
        records.append(head | {"target": first["target"], "text_sha": run.sha(text), "ranks": [7] * len(orders)})
    asked, rank = [], Fixed.rank
    monkeypatch.setattr(Fixed, "rank", lambda self, jobs: rank(self, (asked.append((j.variant, j.target)) or j for j in jobs)))
    taken = scripts._records(SHARED)
    seven = [r for r in taken if r["ranks"] == [7] * len(orders)]
    assert said.items() <= seven[0].items()  # so that they can be read again with the run's own
    assert [(r["variant"], r["target"]) for r in seven] == [("padding", first["target"])] and taken[0]["ranks"][0][0] == 9
    assert sorted(asked) == [("injection", t) for t in sorted(one.targets)] + [("padding", second["target"])]
    asked.clear()
    scripts._records(SHARED | {"query": "recommendation"})
    assert len(asked) == 5
