"""One call's requests: how many were sent, what each may cost, and what was paid in the end."""

from geobench.errors import GeoBenchError
from geobench.replies import key_of


class OutOfAttempts(Exception):
    """The call has sent as many requests as it may."""


class Meter:
    """Counts the requests of one call. bound: the most (tokens in, tokens out) that one of them can be billed for."""

    def __init__(self, engine, name: str, asked: dict, bound: tuple[int, int]):
        self.engine, self.name, self.asked, self.bound = engine, name, asked, bound
        self.prices, self.sent, self._open, self.last = engine.api.prices, 0, 0, "no whole answer"
        self._worst = self.prices.dollars(*bound) if self.prices else 0.0
        if engine.budget.limit is not None and self.prices is None:
            raise GeoBenchError(f"max_cost: model `{engine.spec.name}` has no `api: prices:` in params/models.yaml to count with")

    def send(self) -> None:
        """A request leaves."""
        if self.sent == self.engine.api.attempts:
            raise OutOfAttempts
        self.engine.budget.reserve(self.engine.store, self._worst, self.name)
        self.sent, self._open = self.sent + 1, self._open + 1

    def refused(self) -> None:
        """The server answered with an error, which it does not bill."""
        self.engine.budget.release(self._worst)
        self._open -= 1

    def billed(self, usage, reply: dict | None, served: bool = False) -> None:
        """A whole reply came with its token counts; reply None: it is of no use."""
        tokens = usage or self.bound
        dollars = self.prices.dollars(*tokens) if self.prices else 0.0
        cost = (self.engine.budget.run, self.engine.spec.name, *tokens, dollars, usage is not None)
        if reply is None:
            self.engine.store.pay(key_of(self.asked), *cost)
        else:
            self.engine.store.put(self.asked, reply, served, cost)
        self.engine.budget.paid(dollars)
        self.engine.budget.release(self._worst)
        self._open -= 1

    def close(self) -> None:
        """What was sent and never came back whole is charged at its bound."""
        while self._open > 0:
            self.billed(None, None)
