"""Replies are read again without a model, and only where another parser read them last."""

import json

import pytest

from geobench import reparsing
from geobench.__main__ import main
from geobench.editing import make_edits
from geobench.engines.reply import Reply
from geobench.parsing import Parsed
from geobench.rankers import generate
from geobench.records import Records, read_fingerprint, read_records


class Writer:
    """Ranks the shown items from the last to the first, each with a line of reasons."""

    batch_size, context = 4, 10**6

    def identity(self):
        return {"model": "writer"}

    def chat_text(self, messages):
        return messages[1]["content"]

    def generate(self, prompts, decoding, names=None, alike=None):
        shown = [[line.split(":")[0].split(". ", 1)[1] for line in p[1]["content"].splitlines() if line[:1].isdigit()] for p in prompts]
        return [Reply("\n".join(f"{n}. {name}\n   - Good." for n, name in enumerate(names[::-1], 1)), "stop", 1, 1) for names in shown]


@pytest.fixture
def ranked(kitchen_run, monkeypatch):
    """A run whose generated rankings a bad parser has read: nothing found."""
    from geobench import ranking

    make_edits(kitchen_run, ["padding"])
    monkeypatch.setattr(ranking, "open_for", lambda *_: generate.GenerateRanker("smollm2-135m:generate", Writer()))
    with monkeypatch.context() as bad:
        bad.setattr(generate, "parse_ranking", lambda reply, names, *_: Parsed([len(names) + 1] * len(names), "empty", []))
        ranking.rank_all(kitchen_run, "smollm2-135m:generate")
    return kitchen_run


def test_rankings_are_read_again_from_their_replies(ranked):
    folder, size = ranked.folder / "ranks" / "smollm2-135m.generate", len(ranked.selected[0].list)
    before = {file.stem: read_records(file) for file in folder.glob("*.jsonl")}
    assert {s for rows in before.values() for r in rows for s in r["status"]} == {"empty"}
    lines, count = reparsing.refresh(ranked.folder), len(before["clean"][0]["orders"])
    told = ", ".join(["empty"] * count) + " -> " + ", ".join(["ok"] * count)
    assert lines == [
        f"ranks/smollm2-135m.generate/clean.jsonl: 1 of 1 records read differently: {told} (1)",
        f"ranks/smollm2-135m.generate/padding.jsonl: 2 of 2 records read differently: {told} (2)",
    ]
    (clean,) = read_records(folder / "clean.jsonl")
    for order, ranks in zip(clean["orders"], clean["ranks"]):
        assert [ranks[i] for i in order] == list(range(size, 0, -1))  # the last shown is first
    for row in read_records(folder / "padding.jsonl"):
        assert row["ranks"] == [clean["ranks"][k][row["target"] - 1] for k in range(count)] and row["status"] == ["ok"] * count
        assert row["replies"] and row["finish"] == ["stop"] * count
    assert read_fingerprint(folder / "clean.jsonl")["ranker"]["model"] == "writer"


def test_a_run_reads_again_only_under_another_parser(ranked, monkeypatch):
    assert len(reparsing.refresh(ranked.folder)) == 2 and reparsing.refresh(ranked.folder) == []
    seen = []
    monkeypatch.setattr(reparsing, "reparse", lambda folder: seen.append(folder) or ["changed"])
    assert reparsing.refresh(ranked.folder) == [] and not seen
    monkeypatch.setattr(reparsing, "parser_sha", lambda: "another")
    assert reparsing.refresh(ranked.folder) == ["changed"] and len(seen) == 1


def test_the_command_says_what_changed(ranked, capsys):
    assert main(["reparse", "--run", "r"]) == 0
    said = capsys.readouterr().out
    assert said.count("read differently") == 2 and "make their tables anew at the next ./run_all.sh" in said
    assert main(["reparse", "--run", "r"]) == 0 and "the stored replies read as before" in capsys.readouterr().out
    assert main(["reparse", "--run", "none"]) == 2 and "no run `none`" in capsys.readouterr().err


def test_run_all_says_what_a_mended_parser_changed(ranked):
    from geobench import runner

    said = []
    plan = runner.Plan("smoke", "r", ranked.params, ["01_data"])
    runner.execute(plan, said.append)
    assert sum("read differently" in line for line in said) == 2
    runner.execute(plan, lambda line: said.append("again: " + line))
    assert not any(line.startswith("again") and "differently" in line for line in said)


def test_a_cut_off_reply_of_an_older_record_is_known_by_its_status(ranked):
    file = ranked.folder / "ranks" / "smollm2-135m.generate" / "clean.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    del rows[1]["finish"]
    rows[1]["status"], rows[1]["replies"] = ["cut_off"] * len(rows[1]["orders"]), ["1. Rivo"] * len(rows[1]["orders"])
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reparsing.reparse(ranked.folder)
    assert set(read_records(file)[0]["status"]) == {"cut_off"}


def test_answers_edits_grades_and_decisions_are_read_again(kitchen_run):
    folder, task = kitchen_run.folder, kitchen_run.tasks[0]
    unit = dict(zip(("dataset", "list", "target"), task.key()))
    context = {"name": "q", "condition": "id", "passages": [{}, {}]}
    grade = json.dumps({"stance": "true", "relevance": 5, "completeness": 4, "clarity": 3})
    kept = {
        "edits/zero_shot__m.jsonl": unit | {"mode": "suffix", "suffix": "x", "reply": "<think>Hm.</think> Good.", "text": "x"},
        "edits/fluency__m.jsonl": unit | {"mode": "rewrite", "suffix": None, "text": "x", "reply": "<think>Hm.</think>A."},
        "search/contexts.jsonl": context,
        "search/answers/m__generate.jsonl": {"name": "q", "condition": "id", "answer": "<think>[2]?</think>Deep [1].", "cited": [2, 1]},
        "search/answers/m__extractive.jsonl": {"name": "q", "condition": "id", "answer": "<think>"},
        "search/grades/j.jsonl": {"name": "q", "raw": "<think>{}</think>" + grade, "stance": "unparsed"},
        "search/decisions/granite.jsonl": {"name": "q", "decisions": [{"risk": None, "raw": "<score> yes </score>"}]},
        "search/decisions/guard.jsonl": {"name": "q", "decisions": [{"risk": False, "raw": ""}]},
    }  # fmt: skip
    for name, row in kept.items():
        with Records(folder / name, {"kind": name}, ("name",)) as records:
            records.append(row)
    lines = reparsing.reparse(folder)
    made = {name: read_records(folder / name)[0] for name in kept}
    assert len(lines) == 5 and "search/grades/j.jsonl: 1 of 1 records read differently: unparsed -> true (1)" in lines
    assert made["edits/zero_shot__m.jsonl"]["text"] == f"{task.item.description} Good."
    assert made["edits/fluency__m.jsonl"]["text"] == "A."
    answer = made["search/answers/m__generate.jsonl"]
    assert (answer["answer"], answer["cited"], answer["raw"]) == ("Deep [1].", [1], "<think>[2]?</think>Deep [1].")
    assert made["search/decisions/granite.jsonl"]["decisions"][0]["risk"] is True
    for name in ("search/answers/m__extractive.jsonl", "search/decisions/guard.jsonl", "search/contexts.jsonl"):
        assert made[name] == kept[name]
