"""Random token search: no gradient, as many candidates as STS, never worse than its start."""

from geobench.attacks import optimise, random_search, sts
from geobench.attacks.vocabulary import vocabulary


def test_it_never_rises_and_asks_for_no_gradient(engine, task, ranker, settings, tmp_path):
    ((_, edit),) = optimise.run(random_search, [task(2)], engine, ranker, settings(sts_orders=1), tmp_path, {})
    losses = [row["loss"] for row in edit["trace"]]
    assert all(b <= a + 1e-5 for a, b in zip(losses, losses[1:])) and losses[-1] < losses[0] - 1e-3
    assert edit["tokens"]["backward"] == 0


def test_it_draws_from_the_whole_vocabulary(engine, task, settings, monkeypatch):
    made = optimise.problem(random_search, task(2), engine, settings(sts_candidates=400), vocabulary(engine), 0, {})
    seen = []
    monkeypatch.setattr(random_search, "best_standing", lambda problem, here, drawn, base: seen.append(drawn) or (base.slot, 0.0))
    state = random_search.start(made)
    random_search.step(made, state, 0)
    drawn, start = seen[0], made.slot
    allowed = made.words.allowed(len(start))
    assert 300 < len(drawn) <= 400 and all(sum(a != b for a, b in zip(s, start)) == 1 for s in drawn)
    assert all(allowed[place][token] for s in drawn for place, token in enumerate(s) if token != start[place])
    assert len({token for s in drawn for token in s}) > 100  # far more than any gradient's top-k of 16


def test_its_budget_is_that_of_sts(settings):
    names = optimise.identity(random_search, settings())
    assert names["sts_candidates"] == 24 and "sts_top_k" not in names and set(random_search.NAMES) < set(sts.NAMES)


def test_it_draws_as_many_candidates_as_sts(engine, task, settings, monkeypatch):
    made = optimise.problem(random_search, task(2), engine, settings(sts_candidates=3), vocabulary(engine), 0, {})
    seen = []
    monkeypatch.setattr(random_search, "best_standing", lambda problem, here, drawn, base: seen.append(len(drawn)) or (base.slot, 0.0))
    for number in range(5):
        random_search.step(made, random_search.start(made), number)
    assert seen == [3] * 5  # among thousands of swaps no two are alike
