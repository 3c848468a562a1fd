"""The search track's work by hand."""

from geobench.params import load
from geobench.search.corpus import load_instances, load_triples
from geobench.search.workload import search_work
from geobench.workload import tokens


def test_gate_search_and_training_by_hand():
    p = load("smoke", {"search_instances": 2})
    found = {w.what: w for w in search_work(p)}
    instances = load_instances()[:2]
    gated = sum(tokens(text) for one in instances for text in (one.clean_text, one.ip_text, one.id_text))
    assert (found["gate"].calls, found["gate"].tokens_in) == (2 * 6, 2 * gated)  # perplexity and naturalness of six texts
    assert found["search"].calls == 6 and found["search"].tokens_in > 6 * p.search_candidates * p.search_chunk_tokens
    pool = 4 * sum(tokens(t.clean) for t in load_triples())
    assert found["training of the guard"].tokens_in == pool * 10  # three epochs of forward and backward, and one reading


def test_every_row_has_its_notebook():
    found = {w.what: w.notebook for w in search_work(load("smoke"))}
    assert found["rewrites"] == "11_search_data" and found["guard granite"] == "14_defences" and found["judge"] == "12_search_answers"
    assert found["answers of smollm2-135m:likelihood"] == "12_search_answers"
    assert found["answers of smollm2-135m:likelihood under defences"] == "14_defences"
