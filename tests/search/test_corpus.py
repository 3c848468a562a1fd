import json

import pytest

from geobench.errors import GeoBenchError
from geobench.search.corpus import Instance, Triple, load_instances, load_triples, parse


@pytest.fixture
def row():
    return json.loads(load_instances()[0].model_dump_json())


def test_embedded_corpus_counts():
    instances, triples = load_instances(), load_triples()
    assert (len(instances), sum(i.contested for i in instances)) == (24, 12)
    assert len(triples) == 62 and len({c for t in triples for c in t.categories}) == 8


def test_only_the_target_changes_between_conditions():
    for one in load_instances():
        clean, ip, id_ = (one.documents(c) for c in ("clean", "ip", "id"))
        assert clean == one.sources
        for n, (a, b, c) in enumerate(zip(clean, ip, id_), 1):
            assert (a == b == c) == (n != one.target)


def test_authority_addresses_are_replaced_under_id():
    lake = next(i for i in load_instances() if i.name == "lake_orvel_depth")
    assert "wikipedia" in lake.documents("ip")[1].url and "wikipedia" not in lake.documents("id")[1].url


@pytest.mark.parametrize(
    "change,said",
    [
        (lambda r: r["sources"].pop(), "sources: List should have at least 5"),
        (lambda r: r["sources"].__setitem__(1, r["sources"][0]), "two sources have the same url"),
        (lambda r: r.update(ip_text=""), "ip_text: String should have at least 1"),
        (lambda r: r.pop("id_text"), "id_text: Field required"),
        (lambda r: r["sources"][2].update(text="  "), "sources.2.text"),
        (lambda r: r.update(target=6), "target: Input should be less than or equal to 5"),
        (lambda r: r.update(categories=["bribery"]), "categories.0"),
        (lambda r: r.update(colour="red"), "colour: Extra inputs"),
        (lambda r: r.update(query="a\x1bb"), "query: Value error, the text holds the control character U+001B"),
        (lambda r: r["false_paraphrases"].__setitem__(0, "\x00"), "false_paraphrases: Value error, the text holds"),
    ],
)
def test_bad_rows_are_named(row, change, said):
    change(row)
    with pytest.raises(GeoBenchError) as error:
        parse(row, Instance, "x.jsonl:1")
    assert str(error.value).startswith("x.jsonl:1 `snake_plant_winter`: ") and said in str(error.value)


def test_files_with_faults(tmp_path):
    with pytest.raises(GeoBenchError, match="no corpus file"):
        load_triples(tmp_path / "none.jsonl")
    (tmp_path / "a.jsonl").write_text("{not json\n")
    with pytest.raises(GeoBenchError, match="a.jsonl:1: expected a JSON object, got '{not json'"):
        load_triples(tmp_path / "a.jsonl")
    line = load_triples()[0].model_dump_json()
    (tmp_path / "b.jsonl").write_text(line + "\n" + line + "\n")
    with pytest.raises(GeoBenchError, match="b.jsonl:2: `garlic_storage` comes twice"):
        load_triples(tmp_path / "b.jsonl")
    (tmp_path / "c.jsonl").write_text("")
    with pytest.raises(GeoBenchError, match="empty"):
        load_triples(tmp_path / "c.jsonl")


@pytest.mark.parametrize("line", ["null", "[1]", "5", '"x"'])
def test_a_row_is_an_object(tmp_path, line):
    (tmp_path / "a.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(GeoBenchError, match="a.jsonl:2: expected a JSON object, got"):
        load_triples(tmp_path / "a.jsonl")


def test_a_line_separator_inside_a_text_is_no_new_row(row, tmp_path):
    (tmp_path / "i.jsonl").write_text(json.dumps(row | {"query": "a\u2028b"}, ensure_ascii=False) + "\n", "utf-8")
    assert [one.query for one in load_instances(tmp_path / "i.jsonl")] == ["a\u2028b"]


def test_a_row_without_a_key_is_allowed(row):
    assert parse(row | {"key": None}, Instance, "x").key is None and Triple.model_fields["key"].default is None
