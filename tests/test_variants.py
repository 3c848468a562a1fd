import pandas as pd

from geobench.attacks import METHODS
from geobench.params import load
from geobench.variants import FACTS, by_threat, method_of, methods_table, model_of, threat_of


def test_names():
    assert (method_of("tap__m"), model_of("tap__m"), model_of("padding")) == ("tap", "m", "")
    assert [threat_of(v) for v in ("sts__m", "raf__m", "tap__m", "fluency__m", "padding", "external__mine")] == [
        "white-box", "white-box", "black-box", "white-hat", "control", "external"
    ]  # fmt: skip


def test_every_method_says_what_it_may_do():
    assert set(METHODS) <= set(FACTS)
    table = methods_table(["padding", "tap__m"], load("smoke"))
    assert table["variant"].tolist() == ["tap__m", "padding"] and table["access to the ranker"].tolist() == ["rank of the target", "none"]


def test_order_is_by_threat_then_value():
    frame = pd.DataFrame({"variant": ["padding", "quotes", "fluency", "tap"], "nrg": [0.9, 0.1, 0.2, None]})
    assert by_threat(frame, "nrg")["variant"].tolist() == ["tap", "fluency", "quotes", "padding"]
