import pytest

from geobench.errors import GeoBenchError
from geobench.released_checks import check_method, check_ranks, named

ROW = {"file": "a.csv", "variant": "sts", "dataset": "ragroll", "list": "kettle", "target": 2}


def test_a_record_is_named_with_its_run_where_it_has_another():
    assert named(ROW) == named(ROW | {"run": 1}) == "a.csv: sts, ragroll/kettle, target 2"
    assert named(ROW | {"run": 3}) == "a.csv: sts, ragroll/kettle, target 2, run 3"


def test_a_variant_names_a_known_method():
    assert check_method("sts__vicuna", "x") == "sts__vicuna"
    with pytest.raises(GeoBenchError, match="x: unknown variant.*stss.*`sts`"):
        check_method("stss__vicuna", "x")


@pytest.mark.parametrize("values, whole, said", [
    ([], False, "missing ranks: expected a list of ranks"), (2, False, "missing ranks"), ([0], False, "expected ranks from 1 to 9"),
    ([10], False, "expected ranks"), ([float("nan")], False, "expected ranks"), ([True], False, "expected ranks"),
    ([1.5], True, "expected whole ranks from 1 to 9"),
])  # fmt: skip
def test_ranks_are_from_1_to_the_items_and_one_more(values, whole, said):
    assert check_ranks([1, 1.5, 9], 8, "x").tolist() == [1.0, 1.5, 9.0]
    with pytest.raises(GeoBenchError, match=f"x: {said}"):
        check_ranks(values, 8, "x", whole)
    with pytest.raises(GeoBenchError, match="ranks before: missing original"):
        check_ranks(None, 8, "ranks before")
