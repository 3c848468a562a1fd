import pytest

from geobench.errors import GeoBenchError
from geobench.params import load


def test_the_papers_defaults_and_the_smoke_profile():
    from geobench.search.params import SearchParams

    base, smoke = SearchParams(), load("smoke")
    assert (base.search_chunk_tokens, base.search_chunk_overlap, base.search_sparse_weight, base.search_candidates, base.search_top) == (
        512,
        128,
        0.3,
        50,
        12,
    )
    assert base.search_gate_threshold == 0.65 and base.search_resamples == 10_000
    assert smoke.search_chunk_overlap / smoke.search_chunk_tokens == 128 / 512 and smoke.search_victims == base.search_victims


@pytest.mark.parametrize(
    "values,said",
    [
        ({"search_tops": 3}, "Did you mean `search_top`?"),
        ({"search_victims": ["smollm2-135m:generat"]}, "Did you mean `generate`?"),
        ({"search_encoder": "mini"}, "unknown model `mini`"),
        ({"search_encoder": "smollm2-135m"}, "search_encoder: expected an encoder (kind `bi_encoder`), got `smollm2-135m`, a `causal_lm`"),
        ({"search_rewriter": "minilm"}, "search_rewriter: expected a causal language model (kind `causal_lm`), got `minilm`"),
        ({"search_judge": "minilm"}, "search_judge: expected a causal language model"),
        ({"search_guard_encoder": "smollm2-135m"}, "search_guard_encoder: expected an encoder"),
        ({"search_guard_models": {"granite": "minilm"}, "search_defences": ["guard:drop"]}, "search_guard_models: granite: exp"),
        ({"detector": "smollm2-135m"}, "detector: expected an encoder"),
        ({"search_reranker": "smollm2-135m"}, "search_reranker: expected an encoder (kind `bi_encoder`) or a cross-encoder (kind"),
        ({"search_chunk_overlap": 96}, "search_chunk_overlap: expected less than"),
        ({"search_sparse_weight": 2.0}, "search_sparse_weight"),
        ({"search_defences": ["granite:drop"], "search_guard_models": {}}, "`granite:drop` has no model in search_guard_models"),
    ],
)
def test_faults(values, said):
    with pytest.raises(GeoBenchError) as error:
        load("smoke", values)
    assert said in str(error.value)
