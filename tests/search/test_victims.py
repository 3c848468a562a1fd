import numpy as np
import pytest

from geobench.errors import GeoBenchError
from geobench.search.context import Passage
from geobench.search.corpus import load_instances
from geobench.search.victims import answered, extract, generate, identity, is_heading, parse_victim, prefer

SHOWN = [
    Passage(
        1,
        3,
        "T",
        "https://x.example/a",
        "**How deep is it?**\nDepth of the lake\nThe boats are red and very fast. The lake is very deep here.",
    ),
    Passage(2, 1, "U", "https://x.example/b", "Nothing of the kind is here."),
]


def words(texts):
    """Unit vectors over shared words: cosine grows with overlap."""
    vocabulary = sorted({w for t in texts for w in t.lower().split()})
    rows = np.array([[t.lower().split().count(w) for w in vocabulary] for t in texts], dtype=float)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_names():
    assert parse_victim("smollm2-135m:generate") == ("smollm2-135m", "generate")
    for name, said in (
        ("smollm2-135m", "MODEL:READ-OUT"),
        ("minilm:generate", "bi_encoder"),
        ("smollm2-135m:likelyhood", "likelihood"),
        ("x:generate", "x"),
    ):
        with pytest.raises(GeoBenchError, match=said):
            parse_victim(name)
    assert "tokens" in identity("smollm2-135m:generate", 9) and "tokens" not in identity("smollm2-135m:likelihood", 9)


@pytest.mark.parametrize(
    "line",
    [
        "## A heading of many words in it",
        "**All of this is bold here now**",
        "| a | b |",
        "Short one",
        "What is the depth of it?",
        "Here follow the facts now:",
    ],
)
def test_headings(line):
    assert is_heading(line)


def test_extractive_takes_the_best_sentence_that_is_no_heading():
    found = extract("how deep is the lake", SHOWN, words)
    assert found["answer"] == "The lake is very deep here. [1]" and 0 < found["score"] < 1
    assert extract("q", [Passage(1, 1, "T", "u", "Short.")], words)["answer"] == ""


def test_generate_records_citations(tiny_model):
    rows = generate(tiny_model("llama"), [("how deep?", SHOWN), ("why?", SHOWN[:1])], 6, ["a", "b"])
    assert len(rows) == 2 and all({"answer", "finish", "cited", "cited_invalid"} <= set(r) for r in rows)


def test_thinking_is_no_part_of_an_answer():
    """The judge and the self-check read the answer: a claim that the model only weighs is not asserted."""
    found = answered("<think>[2] says the lake is shallow.</think>\n\nThe lake is very deep [1].", 2)
    assert found["answer"] == "The lake is very deep [1]." and (found["cited"], found["cited_invalid"]) == ([1], [])
    assert found["raw"].startswith("<think>") and "raw" not in answered("Deep [1].", 2)
    assert answered("The prompt opened it. [2]</think>Deep [1].", 2)["answer"] == "Deep [1]."
    assert answered("<think>cut off, [2]", 2) | {"raw": ""} == {"answer": "", "cited": [], "cited_invalid": [], "shown": 2, "raw": ""}


def test_prefer_gives_margins_and_a_stance(tiny_model):
    one = load_instances()[0]
    first = prefer(tiny_model("llama"), one, SHOWN, None, "x")
    assert len(first["margins"]) == 3 and first["stance"] in ("false", "hedged", "true")
    assert first["margins"] == pytest.approx([a - b for a, b in zip(first["margins_raw"], first["prior"])], abs=2e-4)
    assert prefer(tiny_model("llama"), one, SHOWN, first["prior"], "x")["margins"] == pytest.approx(first["margins"], abs=2e-4)
