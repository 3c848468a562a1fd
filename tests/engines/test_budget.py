"""max_cost under reservations: hand-counted."""

import pytest

from geobench.engines.budget import Budget
from geobench.errors import GeoBenchError
from geobench.replies import ReplyStore


def test_reservations_and_payments_add_up_to_the_limit(tmp_path):
    store, budget = ReplyStore(tmp_path / "r.sqlite"), Budget()
    store.pay("k", "mine", "m", 1, 1, 0.4)
    store.pay("k", "another run", "m", 1, 1, 5.0)
    budget.begin("mine", 1.0)
    budget.reserve(store, 0.3, "a")  # 0.4 + 0.3
    with pytest.raises(GeoBenchError, match="b: stopped before max_cost: 0.4000 dollars are spent .* 0.3000 are in flight"):
        budget.reserve(store, 0.4, "b")
    budget.paid(0.1)
    budget.release(0.3)  # it cost 0.1
    budget.reserve(store, 0.5, "b")
    with pytest.raises(GeoBenchError):
        budget.reserve(store, 0.001, "c")
    budget.begin("mine", None)
    budget.reserve(store, 1e6, "d")
