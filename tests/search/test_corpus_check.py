import re

import pytest

from geobench.search.corpus import load_instances, load_triples
from geobench.search.corpus_check import MARKUP, check_corpus, check_instance, check_leakage, check_triple, check_usable


def test_the_embedded_corpus_has_no_faults():
    assert check_corpus() == []


@pytest.mark.parametrize(
    "change,said",
    [
        ({"id_text": "word " * 130}, "ID asserts the false claim 0 times, expected 3"),
        ({"ip_text": "Too short."}, "IP has 2 words, expected 120 to 250"),
        ({"facts": ["a fact that is nowhere"]}, "fact 'a fact that is nowhere' is not in the clean text"),
        ({"contested": False}, "is not contested, but https://potandsaucer.example.org/guides/sansevieria states the truth"),
        ({"false_paraphrases": ["Water it now and then.", "Every 3 days."]}, "the false key does not fit 'Water it now and then.'"),
    ],
)
def test_faults_of_an_instance(change, said):
    assert f"snake_plant_winter: {said}" in check_instance(load_instances()[0].model_copy(update=change))


def test_html_in_a_source_is_found():
    one = load_instances()[0]
    marked = [s.model_copy(update={"text": "<p>" + s.text}) if n == 1 else s for n, s in enumerate(one.sources)]
    assert any("holds HTML" in f for f in check_instance(one.model_copy(update={"sources": marked})))


def test_faults_of_a_triple():
    one = load_triples()[0]
    assert check_triple(one) == []
    assert "garlic_storage: control asserts its statement 0 times, expected 3" in check_triple(one.model_copy(update={"control": one.id}))
    assert "garlic_storage: ip does not name 'Nobody'" in check_triple(one.model_copy(update={"attribution": "Nobody"}))


def test_leakage_by_topic_and_by_text():
    instances, triples = load_instances()[:2], load_triples()[:3]
    assert check_leakage(instances, triples) == []
    same = triples[0].model_copy(update={"topic": instances[0].topic})
    assert check_leakage(instances, [same, *triples[1:]]) == ["garlic_storage: name or topic is also in the evaluation part"]
    copied = triples[0].model_copy(update={"clean": instances[0].clean_text})
    assert "to evaluation instance snake_plant_winter" in check_leakage(instances, [copied, *triples[1:]])[0]


@pytest.mark.parametrize(
    "change,said",
    [
        ({"ip_text": "clean"}, "the IP text equals the clean text"),
        ({"id_text": "The lake is deep."}, "the false claim .* is nowhere in the ID text"),
        ({"id_text": "The lake is deep.", "key": None}, "the false claim .* is nowhere in the ID text"),
        ({"ip_text": "<p class='a'>Water it.</p>"}, "IP holds HTML; take its text first"),
    ],
)
def test_what_makes_an_instance_of_any_corpus_meaningless(change, said):
    one = load_instances()[0]
    change = {k: one.clean_text if v == "clean" else v for k, v in change.items()}
    assert check_usable(one) == []
    (fault,) = check_usable(one.model_copy(update=change))
    assert re.search(f"^snake_plant_winter: {said}", fault)


@pytest.mark.parametrize("text,marked", [("<br/>", True), ("a </div>", True), ('<a href="x">y</a>', True), ("<!-- x -->", True),
                                         ("a <5 km and >3", False), ("if a <b and c> d", False)])  # fmt: skip
def test_markup(text, marked):
    assert bool(MARKUP.search(text)) == marked
