"""The search track's estimates against runs of its notebooks' steps with an engine that counts what it is asked, and by hand."""

import json

import pytest

from geobench import models
from geobench.dry_run import search_work
from geobench.models import ModelSpec
from geobench.params import load
from geobench.prompts import load_prompt
from geobench.search import grading, quality, workload
from geobench.search import judge as llm_judge
from geobench.search.corpus import load_instances
from geobench.workload import tokens

CLAIM = "The board says that every plant needs a bath of warm milk."


def found(p) -> dict:
    return {w.what: w for w in search_work(p)}


def patient(last: int):
    """Replies of the rewriting pipeline that are valid at attempt `last` alone."""

    def answer(prompt, attempt):
        if attempt < last:
            return "no JSON"
        pairs = {"false_paraphrases": ["Bathe it in milk.", "Milk it needs."], "true_paraphrases": ["Use water.", "Water does."]}
        said = pairs | {"false_claim": CLAIM, "true_statement": "Water is enough for it.", "criterion": "It says milk."}
        system = prompt[0]["content"]
        steps = {load_prompt("search_rewrite")[step]["system"]: step for step in ("metadata", "ip", "id")}
        text = f"{CLAIM} Second: {CLAIM} Third: {CLAIM} " + "It grows in the shade. " * 5
        return json.dumps(said if steps[system] == "metadata" else {"text": text, "categories": ["testimonial"]})

    return answer


@pytest.mark.parametrize("asked, retries", [(1, 0), (2, 1), (None, 2)])
def test_rewrites_and_the_gate_against_a_run_that_takes_every_retry(counting, letters, asked, retries):
    search, engine = counting(search_rewrite_queries=asked, search_rewrite_retries=retries)
    engine.answer = patient(retries)
    rows = quality.run_rewriting(search)
    assert {r["state"] for r in rows} == {"ok"} and len(rows) == 3 * (asked or 2)
    work = found(search.p)
    calls, read, most = engine.sums("generate")
    assert calls == work["rewrites"].calls == 3 * (asked or 2) * (1 + retries) and most == work["rewrites"].limit == 16 * calls
    assert read == pytest.approx(work["rewrites"].tokens_in, rel=0.1)  # the reasons of refusals are not counted
    quality.measure(search)
    for kind, what in (("read", "gate: perplexity"), ("odds", "gate: naturalness")):
        calls, read, _ = engine.sums(kind)
        assert calls == work[what].calls == 6 and read == pytest.approx(work[what].tokens_in, rel=0.02)
    assert sum(map(len, letters.seen)) / 4 == pytest.approx(work["gate: similarity"].tokens_in, rel=0.01)


def test_search_answers_and_grades_against_a_run(counting, letters):
    search, engine = counting(search_judge_answers=None)
    work = found(search.p)
    search.make_contexts()
    assert len(letters.seen) == work["search"].calls and work["search"].tokens_in == sum(map(tokens, letters.seen))
    for victim, kind, times in (("smollm2-135m:generate", "generate", 6), ("smollm2-135m:likelihood", "weighed", 6 + 2)):
        search.make_answers(victim)
        (calls, read, most), row = engine.sums(), work[f"answers of {victim}"]
        assert calls == row.calls == times and most == row.limit == (48 if kind == "generate" else 0)
        assert read <= row.tokens_in <= 1.25 * read  # chunks of one source share its head, and overlaps
    letters.seen.clear()
    search.make_answers("minilm:extractive")
    assert 0 < len(letters.seen) < work["answers of minilm:extractive"].calls
    grading.make_grades(search, grading.written(search))
    calls, read, most = engine.sums()
    assert calls == work["judge"].calls == 12 and most == work["judge"].limit == 12 * llm_judge.TOKENS
    assert 0.75 * read < work["judge"].tokens_in < 1.5 * read
    few = found(search.p.model_copy(update={"search_judge_answers": 3}))
    assert few["judge"].calls == 3 and "judge" not in found(search.p.model_copy(update={"search_judge": None}))


def test_a_cross_encoder_reads_every_candidate_again_under_each_condition(counting, monkeypatch):
    asked = []

    class Cross:
        spec = ModelSpec("cross", "path:/w", kind="cross_encoder")

        def identity(self):
            return {"model": "cross"}

        def relevance(self, query, texts):
            asked.extend(query + text for text in texts)
            return [0.0] * len(texts)

    known = dict(models.registry()) | {"cross": Cross.spec}
    monkeypatch.setattr(models, "registry", lambda path=None: known)
    monkeypatch.setitem(models._open, "cross", Cross())
    search, _ = counting(search_reranker="cross", search_candidates=7)
    assert "reranking" not in found(search.p.model_copy(update={"search_reranker": "minilm"}))
    search.make_contexts()
    works = [w for w in search_work(search.p) if w.what == "reranking"]
    assert [w.notebook[:2] for w in works] == ["12", "14", "15"] and {w.model for w in works} == {"cross"}
    assert works[0].calls == len(asked) == 6 * 7
    assert works[0].tokens_in == pytest.approx(sum(map(len, asked)) / 4, rel=0.1)


def test_answers_without_a_key_are_all_graded(tmp_path):
    rows = [i.model_dump() for i in load_instances()[:3]]
    rows[0]["key"] = None
    (tmp_path / "instances.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    p = load("smoke", {"search_corpus": str(tmp_path), "search_judge_answers": 4, "search_defence_victims": None})
    judged = [w for w in search_work(p) if w.what == "judge"]
    written = 2  # two of three victims write
    assert [(w.notebook[:2], w.calls) for w in judged] == [("12", 3 * written + 4), ("14", 3 * written * len(p.search_defences))]


def test_public_queries_are_counted_before_the_gate_has_spoken():
    p = load("paper", {"search_rewrite_queries": 10, "search_gate_rounds": 2, "search_rewrite_retries": 1, "search_gate_threshold": 0.5})
    assert len(workload.sizes(p)) == 10 and len(workload.sizes(load("paper", {"search_rewrite_queries": None}))) == 1000
    assert len(workload.sizes(load("paper", {"search_instances": 3}))) == 3 and len(workload.sizes(load("smoke"))) == 24
    work = found(p)
    # metadata, IP and ID, both again in each round, the ID text once more to train on; every one asked twice
    assert work["rewrites"].calls == 10 * (1 + 3 + 4) * 2 and work["rewrites"].tokens_out == 160 * p.search_rewrite_tokens
    # three IP and four ID texts, each beside its original; and three of every query that enters
    assert work["gate: perplexity"].calls == 10 * (2 * 7 + 3) and work["gate: perplexity"].tokens_in == 1000 * 10 * 17
    assert work["answers of gemma-4-31b:generate"].calls == 30
    shown = 5 * 1000 + 5 * 40  # five pages are shorter than twelve chunks of 512 tokens
    asked = shown + 25 + workload._frame()
    assert work["answers of gemma-4-31b:generate"].tokens_in == 30 * asked and work["reranking"].model == "bge-reranker-v2-m3"


def test_chunks_by_hand():
    p = load("smoke", {"search_chunk_tokens": 40, "search_chunk_overlap": 10})
    assert [workload.cut(p, n) for n in (1, 40, 41, 70, 71)] == [(1, 1), (1, 40), (2, 51), (2, 80), (3, 91)]


HAND = workload.Size(10, (50,) * 5, (50, 60, 70), 20, 30, (1, 2, 3, 4, 5, 6), True)


def test_a_grade_and_a_rewrite_by_hand():
    p = load("smoke", {"search_rewrite_queries": 1, "search_rewrite_retries": 0, "search_answer_tokens": 40})
    (work,) = workload.graded(p, [HAND, HAND], "12_search_answers")
    asked = tokens(load_prompt("search_judge")["system"] + load_prompt("search_judge")["user"])
    assert (work.calls, work.tokens_in) == (2, 2 * (asked + 10 + (5 + 6) + 25 + 40))  # query, claim and truth, criterion, answer
    for template, step in (("main", "id"), ("independent", "independent")):
        (work,) = workload._rewrites(p.model_copy(update={"search_rewrite_template": template}), [HAND])
        prompt = load_prompt("search_rewrite")
        asked = sum(tokens(prompt[s]["system"] + prompt[s]["user"]) for s in ("metadata", "ip", step))
        assert (work.calls, work.tokens_in) == (3, asked + 3 * (50 + 10) + 5)  # text and query each time, the claim once


def test_contexts_by_hand():
    p = load("smoke", {"search_top": 3, "search_chunk_tokens": 40, "search_chunk_overlap": 10, "search_answer_tokens": 9})
    assert [workload.shown(p, HAND, n) for n in (0, 2)] == [3 * 40 + 18] * 2  # three of five heads of 6
    assert workload.shown(p.model_copy(update={"search_top": 12}), HAND, 2) == 4 * 50 + 70 + 30  # all that there is
    assert workload.candidates(p, HAND, 2, 50) == (4 * 2 + 2, 32) and workload.candidates(p, HAND, 0, 4) == (4, 30)
    weighed = workload.answers(p, "smollm2-135m:likelihood", [(HAND, 0)], "12_search_answers")
    written = workload.answers(p, "smollm2-135m:generate", [(HAND, 0)], "12_search_answers")
    assert written.tokens_in == workload._frame() + 10 + 138 and weighed.tokens_in == written.tokens_in + 21
    assert (weighed.tokens_out, written.tokens_out) == (0, 9)
    found = workload.sentence_work(p, [HAND, HAND], "12_search_answers", "sentences")
    assert (found.calls, found.tokens_in) == (40, 2 * (4 * 50 + 50 + 60 + 70))


def test_every_row_has_its_notebook():
    rows = {w.what: w.notebook for w in search_work(load("smoke"))}
    assert rows["rewrites"] == "11_search_data" and rows["guard granite"] == "14_defences" and rows["judge"] == "12_search_answers"
    assert rows["answers of smollm2-135m:likelihood"] == "12_search_answers"
    assert rows["answers of smollm2-135m:likelihood under defences"] == "14_defences"
    assert rows["judge of the ranking track"] == "15_search_statistics" and rows["training of the guard"] == "13_guard"
