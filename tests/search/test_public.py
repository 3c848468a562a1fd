"""Public queries become instances and a training part: an engine that answers from a script, a gate that reads a word."""

import json

import pytest
from tests.search.test_rewriting import ID, IP, META

from geobench.errors import GeoBenchError
from geobench.records import read_records
from geobench.search import gate, grading, quality
from geobench.search.corpus import load_instances, load_triples
from geobench.search.pipeline import SearchRun
from geobench.search.public import Gate
from geobench.search.statistics import answer_frame, contested_table

LAKE = "The lake in the north of the country is 84 metres deep. It is cold and clear all year, and boats cross it in summer. "


class Writer:
    """Metadata, IP and ID by what is asked for; an ID text says `rough` until it is told what the gate said of it."""

    spec = type("Spec", (), {"kind": "causal_lm"})

    def __init__(self):
        self.asked = []

    def identity(self):
        return {"model": "writer"}

    def generate(self, prompts, decoding, seeds=None, names=None):
        text = prompts[0][1]["content"]
        step = "metadata" if text.startswith("Question") else "id" if "F: " in text else "ip"
        self.asked.append((names[0].split(" ")[0], step))
        rough = " rough" if step == "id" and "stubborn" in text else ""
        rough = rough or (" rough" if step == "id" and "hard" in text and "length 0.10" not in text else "")
        made = {"metadata": META, "ip": IP, "id": ID | {"text": ID["text"] + rough}}[step]
        return [type("Reply", (), {"text": json.dumps(made), "finish": "stop"})]


def rows():
    """Four usable queries (one needs a second try, one never passes) and one with too few sources."""
    made = []
    for name in ("easy one", "hard one", "stubborn one", "easy two", "lacking"):
        sources = [{"url": f"https://en.wikipedia.org/{name[-3:]}{n}", "cleaned_text": f"{name} {n}. {LAKE * 2}"} for n in range(5)]
        made.append({"query": f"{name}: how deep is the lake", "sources": sources[: 4 if name == "lacking" else 5], "sugg_idx": 1})
    return made


@pytest.fixture
def made(search, tmp_path, monkeypatch):
    """A run over the public rows, with everything that a model or the gate would say scripted."""
    from geobench import models

    (tmp_path / "test.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows()))
    writer = Writer()
    monkeypatch.setitem(models._open, "llama-3.1-8b", writer)
    monkeypatch.setattr(models, "require_engine", lambda row: None)
    monkeypatch.setattr(gate, "assess", lambda found, *_: found)
    parts = dict.fromkeys(gate.PARTS, 1.0)
    monkeypatch.setattr(gate, "parts_of", lambda changed, clean, _: parts | ({"length": 0.1} if "rough" in changed["text"] else {}))
    change = {"search_corpus": "geo_bench", "search_folder": str(tmp_path), "search_rewriter": "llama-3.1-8b"}
    change |= {"search_rewrite_queries": None, "search_instances": None}
    search.work.params = search.p.model_copy(update=change)
    made = SearchRun(search.work)
    made.writer = writer
    return made


def test_what_passes_enters_and_the_rest_trains_or_is_named(made):
    chosen = made.choose()
    assert [i.query.split(":")[0] for i in chosen] == ["easy one", "easy two"]
    one = chosen[0]
    assert one.target == 2 and one.id_url == "https://geobench-0001-blog.example.com/one1" and one.documents("ip")[1].url.startswith("https://en.w")
    assert one.key is None and one.contested is None and one.false_paraphrases == META["false_paraphrases"]
    trained = load_triples(made.folder / "training.jsonl")
    assert [(t.topic.split(":")[0], t.control) for t in trained] == [("hard one", None)] and "rough" not in trained[0].id
    refused = [json.loads(line) for line in (made.folder / "refused.jsonl").read_text().splitlines()]
    assert ["4 usable sources" in r["reason"] for r in refused] == [True, False, False]
    assert [r["reason"].split(":")[0] for r in refused[1:]] == ["id", "id"] and "length 0.10" in refused[1]["reason"]


def test_a_training_document_needs_both_rewrites(made, monkeypatch):
    plain = made.writer.generate

    def without_ip(prompts, *args, **kwargs):
        replies = plain(prompts, *args, **kwargs)
        if made.writer.asked[-1][1] == "ip" and "hard" in prompts[0][1]["content"]:
            replies[0].text = "no JSON"
        return replies

    monkeypatch.setattr(made.writer, "generate", without_ip)
    assert [i.query.split(":")[0] for i in made.choose()] == ["easy one", "easy two"]
    assert (made.folder / "training.jsonl").read_text() == ""
    rows = [json.loads(line) for line in (made.folder / "refused.jsonl").read_text().splitlines()]
    assert any("ip: no valid reply" in r["reason"] for r in rows)


def test_the_gate_measures_what_the_encoder_reads_without_its_two_special_tokens(made):
    assert Gate(made, None).limit == 126  # the tests' encoder reads 128


def test_taken_out_characters_are_told(made, tmp_path):
    odd = rows()
    odd[0]["query"] += "\x1b"
    odd[1]["sources"][0]["title"] = "\u0000x"
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(r) + "\n" for r in odd))
    assert "\x1b" not in made.choose()[0].query
    told = [json.loads(line) for line in (made.folder / "cleaned.jsonl").read_text().splitlines()]
    assert told == [{"row": "geobench_0001", "removed": ["U+001B"]}, {"row": "geobench_0002", "removed": ["U+0000"]}]


def test_pass_rates_are_those_of_all_queries(made, monkeypatch):
    made.choose()
    measured = quality.quality_rows(made)
    rates = quality.pass_table(measured, made.p.search_gate_threshold).set_index("condition")
    assert rates["n"].tolist() == [4, 4, 4] and rates["passed"].tolist() == [1, 0.5, 0.5]  # `hard` and `stubborn` fail the ID gate
    loose = quality.sensitivity_table(measured, [0.1, made.p.search_gate_threshold])
    assert loose["both"].tolist() == [1, 0.5]  # thresholds below the run's let more in
    assert quality.reason_table(measured).query("weakest == 'length'")["texts"].sum() == 2


def test_an_instance_of_the_independent_template_has_no_categories(made):
    made.p = made.p.model_copy(update={"search_rewrite_template": "independent"})
    plain = made.writer.generate

    def independent(prompts, *args, **kwargs):
        asked = prompts[0][1]["content"]
        if "a benchmark needs this document" not in asked:
            return plain(prompts, *args, **kwargs)
        return [type("Reply", (), {"text": json.dumps({"text": ID["text"] + " rough" * ("stubborn" in asked)}), "finish": "stop"})]

    made.writer.generate = independent
    assert {tuple(i.categories) for i in made.choose()} == {()}


def test_a_second_call_asks_nobody_and_chooses_the_same(made):
    first, asked = made.choose(), len(made.writer.asked)
    assert SearchRun(made.work).choose() == first and len(made.writer.asked) == asked
    assert {r["state"] for r in quality.run_rewriting(made)} == {"ok"}


def test_rounds_let_the_gate_s_reason_mend_a_rewrite(made):
    made.p = made.p.model_copy(update={"search_gate_rounds": 1})
    assert [i.query.split(":")[0] for i in made.choose()] == ["easy one", "hard one", "easy two"]
    assert (made.folder / "training.jsonl").read_text() == ""
    rows = quality.run_rewriting(made)  # each step once, as its last round left it
    assert len(rows) == len({(r["name"], r["step"]) for r in rows}) < len(read_records(made.folder / "public_rewrites.jsonl"))
    assert {r["round"] for r in rows} == {0, 1}


def test_without_a_query_or_a_pass_it_says_so(made, monkeypatch):
    made.p = made.p.model_copy(update={"search_rewrite_queries": 0})
    with pytest.raises(GeoBenchError, match="no query to rewrite; set search_rewrite_queries"):
        made.choose()
    made.p = made.p.model_copy(update={"search_rewrite_queries": None, "search_gate_threshold": 1.0})
    monkeypatch.setattr(gate, "parts_of", lambda *_: dict.fromkeys(gate.PARTS, 0.9))
    with pytest.raises(GeoBenchError, match="none of 4 queries passed rewriting and the gate; first: ip: length 0.90"):
        made.choose()


def test_without_keys_the_llm_judge_gives_the_verdicts(made, monkeypatch):
    from geobench.search import judge

    made.choose()
    made.make_contexts()
    monkeypatch.setattr(judge, "grade", lambda engine, instances, answers: [judge.parse(GRADE) | {"raw": GRADE} for _ in answers])
    answers = made.make_answers("minilm:extractive")
    assert {(a["stance"], a["asr"]) for a in answers} == {("hedged", 0.5)} and len(grading.grade_all(made, answers)) == 6
    assert set(contested_table(answer_frame(answers, made.instances), 10)["truth"]) == {"unknown"}
    made.p = made.p.model_copy(update={"search_judge": None})
    assert {(a["stance"], a["asr"]) for a in made.answers("minilm:extractive")} == {("unparsed", None)}


GRADE = '{"stance": "hedged", "relevance": 5, "completeness": 4, "clarity": 3}'


def test_the_embedded_corpus_never_asks_the_judge_for_verdicts(search, monkeypatch):
    monkeypatch.setattr(grading, "grade_all", lambda *_: pytest.fail("asked the judge"))
    search.make_contexts()
    assert search.make_answers("minilm:extractive") and load_instances()[0].key
