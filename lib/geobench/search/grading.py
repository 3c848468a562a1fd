"""LLM grades of answers as records, and how often judges agree: the key judge, an LLM judge, and the readers of `labels.csv`."""

import csv
from pathlib import Path
from typing import Any, Protocol

from geobench.errors import GeoBenchError, came
from geobench.models import open_model, spec
from geobench.progress import expect
from geobench.records import Records, read_records
from geobench.sampling import draw
from geobench.search import annotation, judge, verdicts
from geobench.search.agreement import LEVELS
from geobench.search.corpus import FOLDER, Instance, corpus_sha

UNIT = ("victim", "name", "condition")
LABELS = FOLDER / "labels.csv"
READERS = ("reader_1", "reader_2")


class Graded(Protocol):
    """What of a search run (pipeline.SearchRun) grading reads."""

    p: Any
    folder: Path

    @property
    def instances(self) -> list[Instance]: ...

    def answers(self, victim: str) -> list[dict]: ...


def written(search: Graded) -> list[dict]:
    """Answers of the victims that write text (the likelihood victim chooses between given statements and needs no judge)."""
    return [r for v in search.p.search_victims if not v.endswith(":likelihood") for r in search.answers(v)]


def make_grades(search: Graded, answers: list[dict]) -> list[dict]:
    """The LLM judge's grades of a seeded sample of answers (all where `search_judge_answers` is null); empty without a judge."""
    p = search.p
    if p.search_judge is None:
        return []
    by_key = {tuple(a[k] for k in UNIT): a for a in answers if a["answer"]}
    return grade_all(search, [by_key[k] for k in draw(by_key, p.search_judge_answers, p.seed, "judge")])


def grade_all(search: Graded, answers: list[dict]) -> list[dict]:
    """The LLM judge's grades of these answers, kept in `grades/`; an answer is graded once, and the judge is loaded only for new ones."""
    p, row = search.p, spec(search.p.search_judge)
    instances = {i.name: i for i in search.instances}
    identity = judge.identity(row) | {"corpus": corpus_sha(search.instances)}
    file = search.folder / "grades" / f"{row.name}.jsonl"
    with Records(file, identity, (*UNIT, "answer")) as records:
        todo = [a for a in answers if key_of(a) not in records.done]
        expect({file: len(records.done) + len(todo)})
        for start in range(0, len(todo), p.batch_size):
            group = todo[start : start + p.batch_size]
            engine = open_model(p.search_judge, batch_size=p.batch_size)
            grades = judge.grade(engine, [instances[a["name"]] for a in group], [a["answer"] for a in group])
            for answer, grade in zip(group, grades):
                records.append(dict(zip((*UNIT, "answer"), key_of(answer))) | grade)
    wanted = {key_of(a) for a in answers}
    return [r for r in read_records(file) if key_of(r) in wanted]


def key_of(row: dict) -> tuple:
    """(victim, name, condition, answer) of an answer or a grade."""
    return tuple(row[k] for k in (*UNIT, "answer"))


def stances(search: Graded, answers: list[dict]) -> dict[tuple, str]:
    """Stances by the LLM judge of written answers to queries without a key; empty without such answers or without a judge."""
    written = [a for a in answers if a["answer"].strip()]
    if not written or search.p.search_judge is None:
        return {}
    return {key_of(g): g["stance"] for g in grade_all(search, written)}


def quality_table(grades: list[dict]):
    """Per condition: graded answers, share that could not be parsed, and mean quality on the three scales."""
    import pandas as pd

    frame = pd.DataFrame(grades, columns=[*UNIT, "stance", "relevance", "completeness", "clarity"])
    frame["unparsed"] = frame["stance"] == "unparsed"
    scales = ["relevance", "completeness", "clarity"]
    frame[scales] = frame[scales].astype(float)
    table = frame.groupby("condition", sort=False)[["unparsed", *scales]].mean().reset_index()
    table.insert(1, "n", frame.groupby("condition", sort=False)["name"].count().to_numpy())
    return table


def judge_raters(answers: list[dict], grades: list[dict]) -> dict[str, dict]:
    """ASR levels by item of the key judge and the LLM judge, for `annotation.agreement_table`; unparsed grades are left out."""
    keys = {annotation.item_of(a["name"], a["condition"], a["victim"]): a["asr"] for a in answers if a["asr"] is not None}
    llm = {annotation.item_of(g["name"], g["condition"], g["victim"]): verdicts.ASR[g["stance"]] for g in grades}
    return {"key judge": keys, "LLM judge": {i: v for i, v in llm.items() if v is not None}}


def read_labelled(path: Path = LABELS) -> list[dict]:
    """Rows of labels.csv: item, victim, name, condition, answer, reader_1, reader_2 (levels 1, 0.5, 0 or None)."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows, 2):
        for reader in READERS:
            text = row.get(reader)
            if text is None or (text and text not in ("0", "0.5", "1")):
                raise GeoBenchError(f"{Path(path).name}:{number}: {reader} must be 1, 0.5, 0 or empty, got {came(text, 40)}")
            row[reader] = float(text) if text else None
    return rows


def reader_raters(rows: list[dict], instances) -> dict[str, dict]:
    """ASR levels by item of the key judge, applied to the stored answers, and of each reader that labelled any."""
    by_name = {i.name: i for i in instances}
    raters: dict[str, dict] = {"key judge": {}, **{r: {} for r in READERS}}
    for row in rows:
        if row["name"] not in by_name:
            continue
        level = verdicts.ASR[verdicts.key_stance(row["answer"], by_name[row["name"]].key)]
        raters["key judge"][row["item"]] = level
        for reader in READERS:
            if row[reader] is not None:
                raters[reader][row["item"]] = row[reader]
    return {name.replace("_", " "): levels for name, levels in raters.items() if levels}


def confusion_table(rows: list[dict], instances, reader: str = "reader_1"):
    """Key judge (rows) against a reader (columns): counts of ASR levels."""
    import pandas as pd

    raters = reader_raters(rows, instances)
    keys, read = raters["key judge"], raters.get(reader.replace("_", " "), {})
    counts = [{"key_judge": a, **{str(b): sum(keys[i] == a and read[i] == b for i in read) for b in LEVELS}} for a in LEVELS]
    return pd.DataFrame(counts)
