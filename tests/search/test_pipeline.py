import json

import pytest

from geobench.errors import GeoBenchError
from geobench.search.corpus import load_instances
from geobench.search.pipeline import SearchRun
from geobench.search.quality import quality_rows
from geobench.search.statistics import answer_frame, main_table

VICTIMS = ["smollm2-135m:generate", "smollm2-135m:likelihood", "minilm:extractive"]


def test_every_victim_answers_every_instance_under_every_condition(search):
    contexts = search.make_contexts()
    assert [(c["name"], c["condition"]) for c in contexts] == [(i.name, c) for i in search.instances for c in ("clean", "ip", "id")]
    for victim in VICTIMS:
        rows = search.make_answers(victim)
        assert len(rows) == 6 and all(r["stance"] in ("false", "hedged", "beside", "true", "refused") for r in rows)
        assert (main_table(answer_frame(rows, search.instances), 50)["n"] == 2).all()


def test_the_other_sources_are_embedded_once(search, letters):
    search.make_contexts()
    assert len(letters.seen) == len(set(letters.seen))


def test_finished_units_are_not_made_again(search, tiny_model, monkeypatch):
    search.make_contexts()
    first = search.make_answers(VICTIMS[1])
    again = SearchRun(search.work)
    monkeypatch.setattr(tiny_model("llama"), "encode_chat", lambda *a, **k: pytest.fail("asked again"))
    assert again.make_answers(VICTIMS[1]) == first and len(again.make_contexts()) == 6


def test_a_torn_file_resumes(search):
    search.make_contexts()
    whole = search.make_answers(VICTIMS[2])
    file = search.answers_file(VICTIMS[2])
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.warns(UserWarning, match="torn last line"):
        assert search.make_answers(VICTIMS[2]) == whole


def test_a_changed_corpus_is_refused(search):
    search.make_contexts()
    rows = [json.loads(line) for line in (search.folder / "instances.jsonl").read_text().splitlines()]
    rows[0]["query"] = "Another question?"
    (search.folder / "instances.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    with pytest.raises(GeoBenchError, match="made under other conditions .corpus"):
        SearchRun(search.work).make_contexts()


def test_a_context_that_does_not_fit_is_named(search):
    search.make_contexts()
    file = search.folder / "contexts.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[1]["passages"][0]["text"] *= 60
    file.write_text("".join(json.dumps(r) + "\n" for r in lines))
    with pytest.raises(GeoBenchError, match=f"{search.instances[0].name} clean.*do not fit"):
        search.make_answers(VICTIMS[1])


@pytest.mark.parametrize("query", ["Wie oft soll ich gießen?", "水やりの頻度は?", "?!"])
def test_a_query_in_another_language_or_without_words_gets_an_answer(search, query):
    row = json.loads((search.folder / "instances.jsonl").read_text().splitlines()[0]) | {"query": query}
    (search.folder / "instances.jsonl").write_text(json.dumps(row) + "\n")
    again = SearchRun(search.work)
    assert [len(c["hits"]) for c in again.make_contexts()] == [2, 2, 2]
    assert {a["stance"] for a in again.make_answers(VICTIMS[2])} <= {"false", "hedged", "beside", "true"}


@pytest.mark.parametrize("ask,notebook", [
    (lambda s: s.contexts(), "12_search_answers"), (lambda s: s.answers(VICTIMS[2]), "12_search_answers"),
                                          (lambda s: quality_rows(s), "11_search_data")])  # fmt: skip
def test_what_is_missing_names_the_notebook_that_makes_it(search, ask, notebook):
    with pytest.raises(GeoBenchError, match=f"run notebook {notebook} first .*--only {notebook}"):
        ask(search)


def test_without_notebook_11_there_are_no_instances(search, tmp_path):
    (search.folder / "instances.jsonl").unlink()
    with pytest.raises(GeoBenchError, match="run notebook 11_search_data first"):
        SearchRun(search.work).make_contexts()


def test_another_corpus_by_folder(search, tmp_path):
    (tmp_path / "instances.jsonl").write_text(load_instances()[3].model_dump_json() + "\n")
    search.p = search.p.model_copy(update={"search_corpus": str(tmp_path)})
    assert [i.name for i in search.choose()] == ["guitar_humidity"] == [i.name for i in search.instances]
