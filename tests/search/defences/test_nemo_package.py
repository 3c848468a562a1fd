import importlib.util
from types import SimpleNamespace

import pytest

from geobench.errors import GeoBenchError
from geobench.search.defences.nemo_package import NemoPackage
from geobench.search.defences.reply_guards import parse_nemo

INSTALLED = importlib.util.find_spec("nemoguardrails") is not None
DRAFTS = {"Every 9 days.": "yes", "Every 2 days.": "no", "It depends.": "maybe so", "Weekly.": "", "Daily.": "No, the text says 9."}


class Engine:
    """Answers by the draft that its prompt holds."""

    def __init__(self):
        self.asked = []

    def identity(self):
        return {"model": "scripted"}

    def generate(self, prompts, decoding, names=None):
        self.asked += [p[0]["content"] for p in prompts]
        return [SimpleNamespace(text=next(v for k, v in DRAFTS.items() if k in p[0]["content"])) for p in prompts]


def test_the_adapter_reads_which_rail_stopped():
    class Rails:
        def generate(self, messages, options):
            assert messages[0]["content"]["relevant_chunks"] == "text" and options["rails"] == ["output"]
            stop = messages[2]["content"] == "bad"
            log = SimpleNamespace(activated_rails=[SimpleNamespace(name="self check facts", stop=stop)])
            return SimpleNamespace(response=[{"content": "x"}], log=log)

    made = NemoPackage(Rails()).decide(["good", "bad"], ["text", "text"])
    assert [d.risk for d in made] == [False, True] and made[1].detail == "self check facts"


@pytest.mark.skipif(INSTALLED, reason="nemoguardrails is installed")
def test_without_the_package_it_says_so():
    with pytest.raises(GeoBenchError, match="`nemoguardrails` is not installed"):
        NemoPackage(engine=Engine())


@pytest.mark.skipif(not INSTALLED, reason="nemoguardrails is not installed")
def test_the_real_package_decides_as_our_parser_does():
    engine, drafts = Engine(), list(DRAFTS)
    made = NemoPackage(engine=engine).decide([*drafts, drafts[1]], ["Water it every 9 days."] * 5 + [""])
    assert [d.risk for d in made] == [parse_nemo(r).blocked("keep") for r in DRAFTS.values()] + [False]
    assert len(engine.asked) == 5 and "Water it every 9 days." in engine.asked[0]  # without evidence nobody is asked
