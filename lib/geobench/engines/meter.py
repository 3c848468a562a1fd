"""One call's requests: how many were sent, what each may cost, and what was paid in the end."""

from geobench.errors import GeoBenchError
from geobench.replies import key_of


class OutOfAttempts(Exception):
    """The call has sent as many requests as it may."""


class Meter:
    """Counts the requests of one call. bound: the most (tokens in, tokens out) that one of them can be billed for."""

    def __init__(self, engine, name: str, asked: dict, bound: tuple[int, int]):
        self.engine, self.name, self.asked, self.bound = engine, name, asked, bound
        self.prices, self.sent, self.last = engine.api.prices, 0, "no whole answer"
        self._open: list[int] = []  # numbers of the bounds in the store
        self._worst = self.prices.dollars(*bound) if self.prices else 0.0
        if engine.budget.limit is not None and self.prices is None:
            raise GeoBenchError(f"max_cost: model `{engine.spec.name}` has no `api: prices:` in params/models.yaml to count with")

    def send(self) -> None:
        """A request leaves; its bound is on disk before."""
        if self.sent == self.engine.api.attempts:
            raise OutOfAttempts
        self.engine.budget.reserve(self.engine.store, self._worst, self.name)
        self._open.append(self.engine.store.pay(key_of(self.asked), *self._cost(self.bound, self._worst, False)))
        self.sent += 1

    def _cost(self, tokens: tuple[int, int], dollars: float, known: bool) -> tuple:
        return self.engine.budget.run, self.engine.spec.name, *tokens, dollars, known

    def refused(self) -> None:
        """The server answered with an error, which it does not bill."""
        self.engine.store.forget(self._open.pop())
        self.engine.budget.release(self._worst)

    def billed(self, usage, reply: dict | None, served: bool = False) -> None:
        """A whole reply came with its token counts; reply None: it is of no use."""
        tokens, number = usage or self.bound, self._open.pop()
        dollars = self.prices.dollars(*tokens) if self.prices else 0.0
        cost = self._cost(tokens, dollars, usage is not None)
        if reply is None:
            self.engine.store.pay(key_of(self.asked), *cost, instead_of=number)
        else:
            self.engine.store.put(self.asked, reply, served, cost, number)
        self.engine.budget.paid(dollars)
        self.engine.budget.release(self._worst)

    def close(self) -> None:
        """What was sent and never came back whole stays charged at its bound."""
        for _ in self._open:
            self.engine.budget.paid(self._worst)
            self.engine.budget.release(self._worst)
        self._open.clear()
