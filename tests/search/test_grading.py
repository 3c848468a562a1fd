import pytest

from geobench.errors import GeoBenchError
from geobench.search import grading
from geobench.search.corpus import load_instances

HEAD = "item,victim,name,condition,answer,reader_1,reader_2\n"


def test_grades_are_sampled_recorded_and_reused(search):
    search.make_contexts()
    for victim in search.p.search_victims:
        search.make_answers(victim)
    answers = grading.written(search)
    assert {a["victim"] for a in answers} == {"smollm2-135m:generate", "minilm:extractive"}
    grades = grading.make_grades(search, answers)
    assert len(grades) == 3 and grading.make_grades(search, answers) == grades
    assert grading.quality_table(grades)["n"].sum() == 3
    raters = grading.judge_raters(answers, grades)
    assert len(raters["key judge"]) == 12 and raters["LLM judge"] == {}
    search.p = search.p.model_copy(update={"search_judge": None})
    assert grading.make_grades(search, answers) == []


def test_labels(tmp_path):
    name = load_instances()[2].name
    file = tmp_path / "l.csv"
    file.write_text(HEAD + f"x,v,{name},id,It is 240 metres deep.,1,\ny,v,{name},id,It is 84 m deep.,0,0.5\nz,v,gone,id,x,1,1\n")
    rows = grading.read_labelled(file)
    raters = grading.reader_raters(rows, load_instances())
    assert raters == {"key judge": {"x": 1.0, "y": 0.0}, "reader 1": {"x": 1.0, "y": 0.0}, "reader 2": {"y": 0.5}}
    table = grading.confusion_table(rows, load_instances())
    assert table.set_index("key_judge").loc[1.0, "1.0"] == 1 and table[["0.0", "0.5", "1.0"]].to_numpy().sum() == 2
    file.write_text(HEAD + f"x,v,{name},id,a,2,\n")
    with pytest.raises(GeoBenchError, match="l.csv:2: reader_1 must be"):
        grading.read_labelled(file)


def test_without_a_judge_or_without_text_no_stance_is_asked_for(search, monkeypatch):
    def graded(run, answers):
        return [{"victim": a["victim"], "name": a["name"], "condition": "id", "answer": a["answer"], "stance": "false"} for a in answers]

    monkeypatch.setattr(grading, "grade_all", graded)
    blank, said = ({"victim": "v", "name": "n", "condition": "id", "answer": text} for text in (" \n", "It is deep."))
    assert grading.stances(search, [blank, said]) == {("v", "n", "id", "It is deep."): "false"}
    monkeypatch.setattr(grading, "grade_all", None)
    assert grading.stances(search, [blank]) == {} == grading.stances(search, [])
    search.p = search.p.model_copy(update={"search_judge": None})
    assert grading.stances(search, [said]) == {}
