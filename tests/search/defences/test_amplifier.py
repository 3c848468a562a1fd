import math

import pytest
from tests.search.defences.test_tables import frame  # noqa: F401

from geobench.search.defences import amplifier


def test_mcnemar_is_the_exact_binomial():
    assert amplifier.mcnemar(0, 0) == 1 and amplifier.mcnemar(0, 5) == pytest.approx(2 / 32) and amplifier.mcnemar(3, 3) == 1
    tail = sum(math.comb(131, k) for k in range(58)) / 2**131
    assert amplifier.mcnemar(74, 57) == pytest.approx(2 * tail)  # the paper's counts for one guard and victim: p = 0.16


def test_worsened_improved_and_transitions_by_hand(frame):  # noqa: F811
    (row,) = amplifier.change_table(frame).to_dict("records")
    assert (row["worsened"], row["improved"], row["improved_by_refusal"], row["same"]) == (1, 1, 1, 1) and row["p"] == 1
    table = amplifier.transition_table(frame).set_index("before")[["0", "0.5", "1"]]
    assert table.loc["1"].tolist() == [1, 0, 1] and table.loc["0.5"].tolist() == [0, 0, 1] and table.loc["0"].sum() == 0
