import pytest

from geobench.errors import GeoBenchError
from geobench.params import load, parse_override


def test_a_profile_overrides_the_base_and_p_overrides_both():
    assert load("smoke").orders == 3 and load("smoke").seed == 0
    assert load("smoke", {"orders": 4}).orders == 4


@pytest.mark.parametrize(
    "values,said",
    [
        ({"order": 4}, "unknown parameter `order`. Did you mean `orders`?"),
        ({"orders": "four"}, "orders: Input should be a valid integer, got 'four'"),
        ({"orders": 0}, "orders: Input should be greater than or equal to 1"),
        ({"datasets": ["kichen"]}, "Did you mean `kitchen`?"),
        ({"judge": "smollm"}, "unknown model `smollm`"),
        ({"rankers": ["bm25"]}, "main_ranker"),
        ({"black_box": ["tap__qwen"]}, "unknown model `qwen`"),
        ({"black_box": ["tap__minilm"]}, "`tap__minilm`: expected METHOD or METHOD__MODEL with a causal language model"),
        ({"controls": ["padding__smollm2-135m"]}, "`padding__smollm2-135m`: expected METHOD"),
        ({"black_box": ["tap", "tap__smollm2-135m"]}, "variant `tap__smollm2-135m` is asked for twice"),
        ({"white_box": ["sts__gpt-4o-mini"]}, "white_box: `gpt-4o-mini` is served over an API, which does not give gradients"),
        ({"rewrites": ["fluent"]}, "rewrites: unknown method `fluent`"),
    ],
)
def test_faults_are_one_clear_line(values, said):
    with pytest.raises(GeoBenchError) as error:
        load("smoke", values)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_unknown_profile():
    with pytest.raises(GeoBenchError, match="unknown profile `smok`. Did you mean `smoke`"):
        load("smok")


def test_overrides_are_name_and_yaml():
    assert parse_override("datasets=[ragroll,stsdata]") == ("datasets", ["ragroll", "stsdata"])
    with pytest.raises(GeoBenchError, match="name=value"):
        parse_override("orders")


NUMBERS = {
    "integer": ("resamples=1e300", "resamples=true", "seed=-1", "seed=1.5", "orders=.nan", "orders=.inf", "batch_size='3'", "seed=[1]"),
    "number": ("tap_temperature=.nan", "tap_temperature=true", "levels=[.inf]", "levels=[true]", "raf_guide=.nan", "max_cost=-.inf"),
    "at most 15 digits": ("seed=1" + "0" * 400, "seed=0x" + "f" * 9000, "tap_temperature=1e16", "raf_guide=-1e300",
                          "stealthrank_weights=[1e17,1,1]"),
    "not valid YAML": ("seed=" + "9" * 5000, "x=" + "[" * 5000, "x={a: [", "seed=2001-13-45"),
}  # fmt: skip


@pytest.mark.parametrize("said,text", [(said, text) for said, texts in NUMBERS.items() for text in texts], ids=lambda text: text[:20])
def test_odd_numbers_are_one_clear_line(said, text, capsys):
    from geobench.__main__ import main

    assert main(["run", "--dry-run", "-p", text]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1 and len(shown) < 500 and shown.startswith("error: ") and text.partition("=")[0] in shown
    assert {"integer": "", "number": ""}.get(said, said) in shown


@pytest.mark.parametrize("role, why", [("white_box", "gradients"), ("reference_model", "log-probabilities of a given text")])
def test_what_an_api_cannot_do_is_refused_before_anything_runs(role, why):
    with pytest.raises(GeoBenchError, match=f"{role}: `gpt-4o-mini` is served over an API, which does not give {why}"):
        load("smoke", {"optimised_on" if role == "white_box" else role: "gpt-4o-mini"})


def test_max_cost_is_no_part_of_a_results_identity():
    assert load("smoke", {"max_cost": 1.5}).identity() == load("smoke").identity()


def test_batch_size_is_no_part_of_a_results_identity():
    assert load("smoke", {"batch_size": 1}).identity() == load("smoke", {"batch_size": 8}).identity()


def test_the_first_papers_profile_takes_the_first_item_of_each_list():
    from geobench import catalog

    params = load("paper_v1")
    assert params.target_rule == "first" and params.orders == 1
    chosen = catalog.select(["kitchen"], None, 3, 0, params.target_rule)
    assert [s.targets for s in chosen] == [(1,), (1,)]


def test_the_objective_goes_by_what_the_main_ranker_reads_and_by_the_prompt():
    assert load("smoke").objective == "attention"
    assert load("smoke", {"optimisation_prompt": "own"}).objective == load("smoke", {"main_ranker": "bm25"}).objective == "target"
    with pytest.raises(GeoBenchError, match="objective=attention reads the deployed prompt; optimisation_prompt=own has no read-out"):
        load("smoke", {"objective": "attention", "optimisation_prompt": "own"})
