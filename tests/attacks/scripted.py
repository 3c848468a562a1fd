"""A writer and a ranker with scripted answers, and the list that they are asked about."""

from geobench.attacks.base import Task
from geobench.engines.local import Reply
from geobench.lists import make_list
from geobench.rankers.base import Ranking

LAMPS = Task(make_list("d", "lamp", "lamp", [(f"Lamp {c}", f"A lamp of kind {c}.") for c in "ABCDE"]), 3)


class Writer:
    """Answers call n with `words[n % len(words)]` and keeps what it was asked."""

    batch_size = 2

    def __init__(self, *words):
        self.words, self.asked, self.seeds = words, [], []

    def generate(self, prompts, decoding, seeds=None, names=None):
        start = len(self.asked)
        self.asked += prompts
        self.seeds += seeds
        return [Reply(self.words[(start + n) % len(self.words)], "stop", 1, 1) for n in range(len(prompts))]


class Lengthy:
    """Ranks the target by the length of its text: the longer, the better; notes the orders it was asked under."""

    def __init__(self, best):
        self.best, self.orders = best, set()

    def rank(self, jobs):
        for job in jobs:
            self.orders |= set(job.orders)
            place = max(1, self.best - len(job.text.split()))
            yield job, Ranking([[place] * len(job.list)] * len(job.orders))
