import json

import pytest

from geobench.errors import GeoBenchError
from geobench.lists import Item, make_list, noun_of, read_list_file, read_rows

PAIRS = [("Oak Desk", "Solid and heavy."), ("Pine Desk", "Light and cheap.")]


def write(folder, *lines, name="desk.jsonl", end="\n"):
    file = folder / name
    file.write_bytes("".join(line + end for line in lines).encode())
    return file


def row(name, text):
    return json.dumps({"Name": name, "Natural": text}, ensure_ascii=False)


def test_make_list_cleans_and_keys():
    lst = make_list("office", "standing_desk", None, [("  Oak\n Desk ", " Two\nlines. "), PAIRS[1]])
    assert lst.items == (Item("Oak Desk", "Two\nlines."), Item("Pine Desk", "Light and cheap."))
    assert (lst.key, lst.noun, len(lst)) == ("office/standing_desk", "standing desk", 2)
    assert make_list("office", "x", "desk", lst.items).items == lst.items


@pytest.mark.parametrize(
    "rows, message",
    [
        ([], "list `office/desk`: expected two items or more, got an empty list."),
        (PAIRS[:1], "list `office/desk`: expected two items or more, got 1."),
        ([*PAIRS, ("OAK  desk", "Again.")], "list `office/desk`: items 1 and 3 share the name 'OAK desk'."),
        ([PAIRS[0], (" ", "Text.")], "list `office/desk`, item 2: the name is empty"),
        ([PAIRS[0], ("Pine", "a\ud800")], "list `office/desk`, item 2: the description holds the control character U+D800"),
        ([PAIRS[0], ("Pine\x9b", "x")], "list `office/desk`, item 2: the name holds the control character U+009B"),
        ([PAIRS[0], ("Pine", "\n")], "list `office/desk`, item 2: the description is empty"),
    ],
)
def test_make_list_refuses(rows, message):
    with pytest.raises(GeoBenchError) as error:
        make_list("office", "desk", None, rows)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_repeated_names_stay_where_not_strict():
    assert len(make_list("office", "desk", None, [*PAIRS, PAIRS[0]], strict=False)) == 3


@pytest.mark.parametrize(
    "name, noun",
    [
        ("books", "book"),
        ("coffee_machines", "coffee machine"),
        ("retail", "product"),
        ("web", "web page"),
        ("air_purifier", "air purifier"),
        ("Golf Clubs", "Golf Clubs"),
    ],
)
def test_noun(name, noun):
    assert noun_of(name) == noun


def test_read_list_file_takes_crlf_bom_blank_lines_and_u2028(tmp_path):
    file = write(tmp_path, "\ufeff" + row("Oak", "One\u2028two"), "", row("Eiche", "Schön"), end="\r\n")
    lst = read_list_file(file, "office", "table")
    assert [item.description for item in lst.items] == ["One\u2028two", "Schön"]
    assert (lst.key, lst.noun) == ("office/desk", "table")


def test_torn_line_is_named_and_cut(tmp_path):
    file = write(tmp_path, row("Oak", "One."), '{"Name": "Pine", "Natural": "' + "x" * 500)
    with pytest.raises(GeoBenchError) as error:
        read_list_file(file, "office")
    message = str(error.value)
    assert message.startswith(f"{file}:2: expected a JSON object, got")
    assert len(message) < len(str(file)) + 320


def test_other_bad_files(tmp_path):
    with pytest.raises(GeoBenchError, match=":1: expected a JSON object, got '\\[1\\]'"):
        read_rows(write(tmp_path, "[1]"))
    for bad in ('{"Name": "\\ud800", "Natural": "x"}', '{"a":' * 9999):
        with pytest.raises(GeoBenchError, match=":1: expected a JSON object, got .*(hex escape|recursion limit)"):
            read_rows(write(tmp_path, bad))
    with pytest.raises(GeoBenchError, match="item 1: expected the texts `Name` and `Natural`, got"):
        read_list_file(write(tmp_path, '{"Name": "Oak", "Description": "One."}'), "office")
    with pytest.raises(GeoBenchError, match="expected the texts"):
        read_list_file(write(tmp_path, "{}"), "office")
    with pytest.raises(GeoBenchError, match="not a readable UTF-8 file"):
        read_rows(tmp_path / "absent.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"Name": "Sch\xf6n"}')
    with pytest.raises(GeoBenchError, match="not a readable UTF-8 file"):
        read_rows(tmp_path / "latin.jsonl")


def test_half_a_surrogate_pair_is_refused(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"Name": "A", "Natural": "\\ud83d\\ude00"}\n{"Name": "B", "Natural": "\\ud800"}\n')
    with pytest.raises(GeoBenchError, match="a.jsonl:2: expected a JSON object"):
        read_list_file(file, "d")
