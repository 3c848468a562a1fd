"""What a run may spend: each request reserves the most it can cost before it is sent, so that `max_cost` is never passed.

A request whose reply never arrives whole may have been billed: it is charged at its upper bound, and shown as such.
"""

import threading

from geobench.errors import GeoBenchError
from geobench.replies import ReplyStore


class Budget:
    """The money of the run that this process works for; shared by all its API models. Dollars are US dollars."""

    def __init__(self):
        self._lock = threading.Lock()
        self.begin("no run", None)

    def begin(self, run: str, limit: float | None) -> None:
        """From here on requests belong to `run`; limit None: no limit."""
        self.run, self.limit = run, limit
        self._paid: float | None = None
        self._reserved = 0.0

    def reserve(self, store: ReplyStore, dollars: float, what: str) -> None:
        """Set aside the most that a request can cost; GeoBenchError where that could pass the limit."""
        with self._lock:
            if self._paid is None:
                self._paid = store.spent(self.run)
            if self.limit is not None and self._paid + self._reserved + dollars > self.limit:
                raise GeoBenchError(
                    f"{what}: stopped before max_cost: {self._paid:.4f} dollars are spent (unseen replies at their upper bound), "
                    f"{self._reserved:.4f} are in flight, the next request can cost {dollars:.4f}, and max_cost is {self.limit:g}; "
                    "everything finished is kept: raise max_cost and run again"
                )
            self._reserved += dollars

    def release(self, dollars: float) -> None:
        """Give back a reservation: the server refused the request, or `paid` says what it cost."""
        with self._lock:
            self._reserved -= dollars

    def paid(self, dollars: float) -> None:
        """Count what the store has just noted as paid."""
        with self._lock:
            self._paid = (self._paid or 0.0) + dollars


CURRENT = Budget()
