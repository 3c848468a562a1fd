"""The defences' estimates against a run with an engine that counts what it is asked, and by hand."""

import numpy as np
import pytest

from geobench.dry_run import search_work
from geobench.params import load
from geobench.search.corpus import load_triples
from geobench.search.defences import defence_run, reply_guards, transfer, workload
from geobench.search.defences.base import by_score
from geobench.search.workload import Size, cut, sizes
from geobench.workload import tokens


class First:
    """A detector that flags the best chunk, so that every configuration changes every context."""

    name, tau = "guard", 0.5

    def identity(self):
        return {"defence": "first"}

    def decide(self, texts, documents=None):
        return [by_score(float(n == 0), 0.5) for n in range(len(texts))]

    def scores(self, texts):
        return np.zeros(len(texts))


def found(p) -> dict:
    return {w.what: w for w in search_work(p) if w.notebook in ("13_guard", "14_defences")}


def test_answers_guards_and_self_checks_against_a_run(counting):
    guards = {"granite": "smollm2-135m", "llama_guard": "smollm2-135m", "nemo": "smollm2-135m"}
    victims, configurations = ["smollm2-135m:generate", "smollm2-135m:likelihood"], ["guard:drop", "guard:refill"]
    search, engine = counting(
        search_guard_models=guards, search_guard_instances=1, search_victims=victims, search_defence_victims=None,
        search_defences=configurations, search_judge=None,
    )  # fmt: skip
    search.make_contexts()
    for victim in victims:
        search.make_answers(victim)
    run = defence_run.DefenceRun(search.work)
    run.search, run.__dict__["detectors"] = search, {"guard": First()}
    work, _ = found(search.p), engine.sums()
    for victim in victims:
        run.make_answers(victim, configurations)
        (calls, read, most), row = engine.sums(), work[f"answers of {victim} under defences"]
        assert calls == row.calls == 6 * 2 and most == row.limit == (12 * 8 if "generate" in victim else 0)
        assert read <= row.tokens_in <= 1.5 * read  # a context that lost a chunk is shorter
    for kind in ("granite", "llama_guard"):
        run.decide(kind)
        (calls, read, most), row = engine.sums(), work[f"guard {kind}"]
        assert calls == row.calls == 3 * 2 and most == row.limit == 6 * reply_guards.TOKENS[kind]  # one query, two chunks shown
        assert read <= row.tokens_in <= read + 6 * (workload.TEMPLATE + 1)
    run.self_check("smollm2-135m:generate")
    (calls, read, most), row = engine.sums(), work["guard nemo"]
    assert calls == row.calls == 3 and most == row.limit == 36 and read <= row.tokens_in <= 1.8 * read


def test_self_checks_of_every_writer_and_of_the_package():
    p = load("paper", {"search_guard_models": {"nemo": "qwen-3.5-35b", "nemo_package": "gemma-4-31b"}, "search_guard_instances": 10,
                       "search_defences": ["guard:drop"]})  # fmt: skip
    work = found(p)
    assert (work["guard nemo"].calls, work["guard nemo_package"].calls) == (90, 90)  # ten queries, three conditions, three victims
    assert work["guard nemo_package"].model == "gemma-4-31b" and work["guard nemo"].tokens_in == work["guard nemo_package"].tokens_in
    alone = load("smoke", {"search_victims": ["minilm:extractive"], "search_defence_victims": None})
    assert "guard granite" not in work and "guard nemo" not in found(alone)  # nobody writes a draft


def test_guard_models_change_the_contexts_of_their_sample_alone():
    p = load("smoke", {"search_guard_instances": 2, "search_defences": ["guard:drop", "granite:drop"]})
    assert found(p)["answers of smollm2-135m:likelihood under defences"].calls == 3 * (24 + 2)
    assert found(p)["guard granite"].calls == 2 * 3 * p.search_top


def test_training_by_hand():
    """Two documents of 100 tokens in three states: three chunks of 40 with overlaps of 10, 120 tokens each."""
    p = load("smoke", {"search_chunk_tokens": 40, "search_chunk_overlap": 10, "search_guard_epochs": 3, "search_guard_holdout": 0.2})
    triples = [(100, 100, 100, 100)] * 2
    (work,) = workload._training(p, triples)
    assert (work.calls, work.tokens_in) == (round(18 * 3 * 0.8), 3 * round(720 * 3 * 0.8))
    (folds,) = workload._training(p.model_copy(update={"search_guard_fold_training": True, "search_guard_folds": 5}), triples)
    assert (folds.calls, folds.tokens_in) == (216, 3 * 8640)  # five folds of four fifths, and the whole
    assert workload._training(p.model_copy(update={"search_guard_folder": "elsewhere"}), triples) == []
    untrained, trained = workload._encoders(p, "13_guard", triples, [50])
    assert (trained.calls, trained.tokens_in) == (18 + 2, 720 + 60)
    assert (untrained.calls, untrained.tokens_in) == (18 + 2 + 4, 720 + 60 + 400)  # clean and ID whole, to find borderline ones


def test_an_own_training_part_is_counted(tmp_path):
    from geobench.search.corpus import load_instances

    one, part = load_instances()[0], load_triples()[:2]
    (tmp_path / "instances.jsonl").write_text(one.model_dump_json() + "\n")
    (tmp_path / "training.jsonl").write_text("".join(t.model_dump_json() + "\n" for t in part))
    p = load("smoke", {"search_corpus": str(tmp_path)})
    assert workload.training_part(p) == [tuple(map(tokens, (t.clean, t.ip, t.id, t.control))) for t in part]
    assert len(workload.training_part(load("smoke"))) == len(load_triples()) > 2
    assert workload.training_part(load("paper", {"search_rewrite_queries": 4})) == [(1000, 1000, 1000)] * 4


@pytest.mark.parametrize("configured, notebook", [(["disagreement:drop"], "14_defences"), (["guard:drop"], "15_search_statistics")])
def test_disagreement_is_measured_where_it_is_first_asked_for(configured, notebook):
    p = load("smoke", {"search_defences": configured})
    (work,) = [w for w in search_work(p) if w.what == "disagreement"]
    assert work.notebook == notebook and work.calls == sum(size.sentences for size in sizes(p))


def test_what_notebook_15_reads_by_hand():
    """Two documents to train on, one query: its three texts, and its clean text under three mechanical templates."""
    assert workload.TEMPLATES == len(transfer.TEMPLATES)
    p = load("smoke", {"search_chunk_tokens": 40, "search_chunk_overlap": 10, "perplexity_limit": 60})
    size = Size(10, (50,) * 5, (50, 60, 70), 20, 30, (1, 2, 3, 4, 5, 6), True)
    part = [tuple(map(tokens, (t.clean, t.ip, t.id, t.control))) for t in load_triples()]
    work = {w.what: w for w in workload.defence_work(p, [size]) if w.notebook == "15_search_statistics"}
    learnt = [cut(p, n) for one in part for n in one[:3]]
    seen = [cut(p, n) for n in (50, 60, 70, 50, 50, 50)]
    assert work["the trained guard"].calls == sum(n for n, _ in learnt + seen)
    assert work["the trained guard"].tokens_in == sum(n for _, n in learnt + seen)
    assert work["perplexity"].tokens_in == 50 + 60 + 60 and work["judge of the ranking track"].calls == 3
