import pytest

from geobench.errors import GeoBenchError
from geobench.search.structured import json_object


@pytest.mark.parametrize(
    "reply",
    ['{"a": 1}', 'Sure:\n```json\n{"a": 1}\n```', '<think>{"b": 2}</think>{"a": 1} and more', 'Not {this} but {"a": 1}', '{} {"a": 1}',
     'Hm</THINK>{"a": 1}', '{"a": 1} <think>', 'perhaps {"b": 2}?</think>{"a": 1}'],
)
def test_the_object_is_found(reply):
    assert json_object(reply) == {"a": 1}


ENDLESS = ['{"a":' * 3000 + "1" + "}" * 3000, '{"a":' + "[" * 100_000, "<think>" * 20_000]


@pytest.mark.parametrize("reply", ["", "yes", '{"a": 1', "[1, 2]", '<think>or {"a": 1}', *ENDLESS], ids=range(8))
def test_no_object(reply):
    with pytest.raises(GeoBenchError, match="expected a JSON object"):
        json_object(reply)
