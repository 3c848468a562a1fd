"""500 generated and mutated replies: each gets a status, and every rank is in 1..L+1."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geobench.parsing import STATUSES, parse_ranking

pytestmark = pytest.mark.slow
NAMES = ["Canon EOS R6", "Canon EOS R6 Mark II", "Sony A7 IV", "Nikon Z6 II", "A", "\u6771\u829d 5",
         "R\u00e9my & Co. <b>", "30 Things the Mayor Did"]  # fmt: skip
SHAPES = [
    lambda o: "\n".join(f"{n}. {x}" for n, x in enumerate(o, 1)), lambda o: "\n".join(f"**{n}. {x}**: good" for n, x in enumerate(o, 1)),
    lambda o: "| # | name |\n|---|---|\n" + "\n".join(f"| {n} | {x} |" for n, x in enumerate(o, 1)),
    lambda o: '{"ranking": [' + ", ".join(f'"{x}"' for x in o) + "]}", lambda o: "```json\n[" + ", ".join(f'"{x}"' for x in o) + "]\n```",
    lambda o: "<think>First " + o[-1] + "? No.</think>\n" + "\n".join(f"{n}) {x}" for n, x in enumerate(o, 1)),
    lambda o: " > ".join(f"[{NAMES.index(x) + 1}]" for x in o), lambda o: "Voici le classement :\n" + "\n".join(f"- {x}" for x in o),
    lambda o: "\n".join(f"{n}. {x.upper()}" for n, x in enumerate([*o, o[0], o[0]], 1)), lambda o: "I cannot help with that.", lambda o: "",
    lambda o: "\u6392\u540d\uff1a" + "\u3001".join(o),
]  # fmt: skip
JUNK = ["\x00", "\x1b[31m", "\u202e", "\u2028", "<|im_end|>", "\\section{", "<script>", "\ufffd", "\U0001f947",
        "1.", "999999999999999999999.", "|", "{", "\n"]  # fmt: skip


def mutated(draw: random.Random) -> tuple[str, str]:
    """A shape over a shuffled, perhaps incomplete list, with junk put in, cut out or cut off."""
    order = draw.sample(NAMES, draw.randint(1, len(NAMES)))
    text, finish = draw.choice(SHAPES)(order), "stop"
    for _ in range(draw.randint(0, 4)):
        at = draw.randint(0, len(text))
        kind = draw.choice(("put in", "cut out", "repeat"))
        new = {"put in": draw.choice(JUNK), "cut out": "", "repeat": text[:at][-40:]}[kind]
        text = text[:at] + new + text[at + 5 * (kind == "cut out") :]
    if draw.random() < 0.2:
        text, finish = text[: draw.randint(0, len(text))], "length"
    return text, finish


def check(text: str, finish: str, mode: str):
    parsed = parse_ranking(text, NAMES, finish, mode)
    assert parsed.status in STATUSES
    assert len(parsed.ranks) == len(NAMES) and all(1 <= r <= len(NAMES) + 1 for r in parsed.ranks)
    placed = [r for r in parsed.ranks if r <= len(NAMES)]
    assert sorted(placed) == list(range(1, len(placed) + 1)) and len(parsed.order) == len(placed)
    return parsed.status


@pytest.mark.parametrize("mode", ["default", "released"])
def test_500_mutated_replies(mode):
    draw = random.Random(11)
    seen = {check(*mutated(draw), mode) for _ in range(500)}
    assert seen >= {"ok", "missing", "empty", "cut_off"}


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.one_of(st.sampled_from(NAMES + JUNK), st.text(max_size=20)), max_size=30).map("".join),
    st.sampled_from(["stop", "length", "filtered"]),
)
def test_any_text(text, finish):
    assert check(text, finish, "default") in STATUSES
