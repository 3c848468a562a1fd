import pandas as pd
import pytest

from geobench.errors import GeoBenchError
from geobench.search.defences import separation


def test_auc_by_hand_with_ties_half():
    row = separation.auc({"a": 0.9, "b": 0.5}, {"a": 0.5, "b": 0.1}, 200)
    assert row["auc"] == pytest.approx((1 + 1 + 0.5 + 1) / 4) and row["lo"] <= row["auc"] <= row["hi"] and row["n"] == 2
    assert separation.auc({"a": 1.0, "b": 2.0}, {"a": 0.0, "b": 0.5}, 100)["lo"] == 1
    with pytest.raises(GeoBenchError, match="the same topics"):
        separation.auc({"a": 1.0}, {"b": 1.0})


def frame():
    rows = [("guard", n, s, v, 2, int(v >= 0.8)) for n, (c, i, d) in {"x": (0.1, 0.2, 0.9), "y": (0.3, 0.85, 0.8)}.items()
            for s, v in (("clean", c), ("ip", i), ("id", d))]  # fmt: skip
    return pd.DataFrame(rows, columns=["detector", "name", "state", "score", "chunks", "blocked"])


def test_tables_by_hand():
    auc = separation.auc_table(frame(), 100).set_index("test")["auc"]
    assert auc["id vs clean"] == 1 and auc["id vs ip"] == 0.75
    blocks = separation.block_table(frame()).set_index("state")
    assert blocks.loc["id", "chunk_rate"] == 0.5 and blocks.loc["ip", "document_rate"] == 0.5 and blocks.loc["clean", "blocked_chunks"] == 0
    curve = separation.tau_table(frame(), "guard", 3)
    assert curve["tau"].tolist() == pytest.approx([0.1, 0.5, 0.9]) and curve["id"].tolist() == [1, 1, 0.5]


def test_paired_difference_of_a_detector_with_itself_is_zero():
    both = pd.concat([frame(), frame().assign(detector="frozen")])
    table = separation.difference_table(both, "frozen", "guard", 100)
    assert (table[["difference", "lo", "hi"]] == 0).all().all()


def blocks(**rates):
    rows = [("guard", state, rate) for state, rate in rates.items()]
    return pd.DataFrame(rows, columns=["detector", "state", "document_rate"])


@pytest.mark.parametrize("rates, said", [
    ({"id": 0.8, "control": 0.8, "ip": 0.1}, "blocks ID 80%, control 80%, IP 10%: the true version is blocked at least as often"),
    ({"id": 0.8, "control": 0.6, "ip": 0.1}, "the true version is blocked 0.75 times as often"),
    ({"id": 0.8, "control": 0.0, "ip": 0.1}, "no true version is blocked"),
    ({"id": 0.0, "control": 0.0, "ip": 0.0}, "it blocks no ID document"),
    ({"id": 0.8, "ip": 0.1, "clean": 0.0}, "blocks ID 80%, control (none here), IP 10%: without a control, style and truth cannot"),
])  # fmt: skip
def test_the_control_in_words_with_and_without_one(rates, said):
    (line,) = separation.control_lines(blocks(**rates))
    assert line.startswith("guard: ") and said in line
