from collections import Counter

import pytest

from geobench.datacheck import KINDS, check, defect_table, normal_name
from geobench.lists import make_list


def desks(*pairs, dataset="office", name="desk"):
    return make_list(
        dataset, name, None, [*pairs, ("Clean One", "A plain text."), ("Clean Two", "One more.")], False
    )


def found(*lists, **options):
    return [(defect.kind, defect.list, defect.item) for defect in check(lists, **options)]


def test_clean_list():
    assert check([desks()]) == []


def test_duplicate_names():
    defects = check([desks(("Oak", "One."), ("OAK", "Two."))])
    assert [(d.kind, d.item, d.detail) for d in defects] == [("duplicate_name", 2, "`OAK` is also item 1")]


def test_contained_names_need_word_boundaries():
    lst = desks(
        ("R6", "One."), ("Rivo R6 Mark II", "Two."), ("R60", "Three."), ("C++", "Four."), ("C++ 2", "Five.")
    )
    defects = check([lst])
    assert [(d.kind, d.item) for d in defects] == [("contained_name", 1), ("contained_name", 4)]
    assert defects[0].detail == "`R6` is in the name of item 2, `Rivo R6 Mark II`"


@pytest.mark.parametrize(
    "text, is_url",
    [
        ("https://example.org/a-desk?x=1", True),
        ("URL: https://example.org/desk; Maker: Jane Doe", True),
        ("www.example.org", True),
        ("See https://example.org for a desk of solid oak with five drawers.", False),
        ("Oak.", False),
    ],
)
def test_url_only(text, is_url):
    assert found(desks(("Oak", text))) == ([("url_only", "desk", 1)] if is_url else [])


def test_shared_products():
    one = desks(("Oak-Desk 3", "One."), dataset="office")
    same_set = make_list("office", "table", None, [("Oak Desk 3", "x"), ("Ash", "y")])
    other_set = make_list("home", "desk", None, [("OAK DESK 3", "x"), ("Elm", "y")])
    defects = check([one, same_set, other_set])
    assert [(d.kind, d.dataset, d.list, d.item) for d in defects] == [("shared_product", "home", "desk", 1)]
    assert defects[0].detail == "`OAK DESK 3` is also in office/desk"
    assert normal_name("Oak-Desk ３") == normal_name("oak desk 3") and normal_name("+") != normal_name("-")


def test_boilerplate_openings():
    start = "This desk is made of "
    texts = ["Oak.", "Ash.", "elm."]
    lst = desks(*[(f"D{i}", start + text) for i, text in enumerate(texts)], ("D", "This desk is made by us."))
    assert found(lst) == [("boilerplate_opening", "desk", i) for i in (1, 2, 3)]
    assert found(lst, opening=6) == []
    assert found(desks(*[(f"D{i}", "Too short.") for i in range(3)])) == []


@pytest.mark.parametrize(
    "text, opens",
    [
        ("Here is a short summary of the page: Oak.", True),
        ("Sure, here are the three main points: oak, ash, elm.", True),
        ("Summary: oak.", True),
        ("The article describes oak.", True),
        ("Here is where oak grows.", False),
        ("The desk is oak. Here is a summary.", False),
    ],
)
def test_summariser_openings(text, opens):
    assert found(desks(("D", text))) == ([("boilerplate_opening", "desk", 1)] if opens else [])


def test_over_long():
    lst = desks(("Oak", "word " * 121), ("Ash", "word " * 120))
    assert found(lst) == [("over_long", "desk", 1)]
    assert found(lst, words=119) == [("over_long", "desk", 1), ("over_long", "desk", 2)]


def test_characters():
    lst = desks(
        ("Oak", "Two\nlines."),
        ("Ash", "No\u00a0break, \u200b, \ufffd."),
        ("Élm", "“Quoted”"),
        ("Fir", "\tx~"),
    )
    defects = check([lst])
    assert [(d.kind, d.item) for d in defects] == [("control_character", i) for i in (1, 2)] + [
        ("non_ascii", 3)
    ]
    assert defects[0].detail == "U+000A CONTROL"
    assert defects[1].detail == "U+00A0 NO-BREAK SPACE, U+200B ZERO WIDTH SPACE, U+FFFD REPLACEMENT CHARACTER"
    many = check([desks(("Oak", "αβγδεζ"))])[0].detail
    assert many.endswith("U+03B4 GREEK SMALL LETTER DELTA and 2 more")


def test_order_and_table():
    lists = [desks(("A", "Über."), ("A", "www.a.org")), desks(("A", "One."), ("a", "Two."), name="chair")]
    defects = check(lists)
    kinds = [defect.kind for defect in defects]
    assert kinds == sorted(kinds, key=KINDS.index)
    table = defect_table(defects)
    assert list(table.columns) == ["kind", "dataset", "list", "item", "detail"] and len(table) == len(defects)
    assert table.iloc[0].tolist() == ["duplicate_name", "office", "desk", 2, "`A` is also item 1"]
    assert defect_table([]).shape == (0, 5)


def test_public_data(monkeypatch):
    """What notebook 01 reports on the public lists, counted by hand in the protocol notes."""
    import os
    from pathlib import Path

    from geobench import paths, sources

    mirror = Path(os.environ.get("GEOBENCH_DATA_MIRROR") or paths.ROOT / ".." / "shared" / "data").resolve()
    if not (mirror / "catalogs").is_dir():
        pytest.skip(
            f"public data not found in {mirror}: set GEOBENCH_DATA_MIRROR to the folder that holds catalogs/"
        )
    monkeypatch.setenv("GEOBENCH_DATA_MIRROR", str(mirror))
    names = ("ragroll", "stsdata", "llm_rank_optimizer", "cseo")
    counts = Counter(
        (d.kind, d.dataset) for d in check([lst for name in names for lst in sources.load_public(name)])
    )
    assert counts["shared_product", "llm_rank_optimizer"] == 30  # the same products in two renderings
    assert counts["url_only", "llm_rank_optimizer"] == 10  # the election articles
    assert counts["over_long", "cseo"] == 1
    assert not any(kind in ("duplicate_name", "boilerplate_opening") for kind, _ in counts)
