"""Replies as models write them, each with the order a reader sees; then properties of any reply."""

import json
import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geobench.errors import GeoBenchError
from geobench.parsing import STATUSES, parse_ranking

BRANDS = ["Sony", "Bose", "JBL"]
CAMERAS = ["Canon EOS R6", "Canon EOS R6 Mark II", "Sony A7 IV", "Nikon Z6 II"]
ARTICLES = [
    "30 Things the Mayor Did",
    "5 Takeaways: The Council Meets",
    "24 things the mayor promises",
    "What are the mayor's plans?",
]


def read(reply, names=BRANDS, **options):
    """(names in the order found, status)."""
    parsed = parse_ranking(reply, names, **options)
    return [names[i] for i in parsed.order], parsed.status


BOSE_JBL_SONY = {  # shape: reply whose ranking is Bose, JBL, Sony, plainly given
    "dots": "1. Bose\n2. JBL\n3. Sony",
    "no space": "1.Bose\n2.JBL\n3.Sony",
    "parentheses": "1) Bose\n2) JBL\n3) Sony",
    "two parentheses": "(1) Bose\n(2) JBL\n(3) Sony",
    "square brackets": "[1] Bose\n[2] JBL\n[3] Sony",
    "sharps": "#1 Bose\n#2 JBL\n#3 Sony",
    "hyphens": "1 - Bose\n2 - JBL\n3 - Sony",
    "dashes": "1 – Bose\n2 — JBL\n3 — Sony",
    "colons": "1: Bose\n2: JBL\n3: Sony",
    "bold numbers": "**1.** Bose\n**2.** JBL\n**3.** Sony",
    "bold lines": "**1. Bose**\n**2. JBL**\n**3. Sony**",
    "bold names": "1. **Bose**: warm\n2. **JBL**: loud\n3. **Sony**: calm",
    "italics": "1. _Bose_\n2. *JBL*\n3. __Sony__",
    "headings": "### 1. Bose\nWarm.\n\n### 2. JBL\nLoud.\n\n### 3. Sony\nCalm.",
    "circled digits": "① Bose\n② JBL\n③ Sony",
    "superscripts": "¹ Bose\n² JBL\n³ Sony",
    "keycaps": "1️⃣ Bose\n2️⃣ JBL\n3️⃣ Sony",
    "medals, then a number": "🥇 Bose\n🥈 JBL\n3. Sony",
    "full width": "１．Bose\n２．JBL\n３．Sony",
    "ordinals": "1st: Bose\n2nd: JBL\n3rd place: Sony",
    "words": "Rank 1: Bose\nRank 2: JBL\nNo. 3: Sony",
    "numbers only": "1 Bose\n2 JBL\n3 Sony",
    "all ones": "1. Bose\n1. JBL\n1. Sony",
    "line after the number": "1.\nBose\n2.\nJBL\n3.\nSony",
    "one line": "1. Bose 2. JBL 3. Sony",
    "one line with lead": "Ranking: 1. Bose, 2. JBL, 3. Sony",
    "lead on the first line": "Ranking: 1. Bose\n2. JBL\n3. Sony",
    "windows line ends": "1. Bose\r\n2. JBL\r\n3. Sony\r\n",
    "quoted": "1. \"Bose\"\n2. 'JBL'\n3. “Sony”",
    "case": "1. BOSE\n2. jbl\n3. sONY",
    "table": "| Rank | Name |\n|:-:|---|\n| 1 | **Bose** (beats Sony) |\n| 2 | JBL |\n| 3 | Sony |",
    "table, rank last": "| Name | Rank |\n|---|---|\n| Sony | 3 |\n| Bose | 1 |\n| JBL | 2 |",
    "rank behind": "Sony: 3\nBose: 1\nJBL: 2",
    "quote block": "> 1. Bose\n> 2. JBL\n> 3. Sony",
    "code block": "```\n1. Bose\n2. JBL\n3. Sony\n```",
    "html": "<ol>\n1. <b>Bose</b>\n2. <b>JBL</b>\n3. Sony</ol>",
    "bullets": "- Bose\n- JBL\n- Sony",
    "stars": "* Bose\n* JBL\n* Sony",
    "bullet signs": "• Bose\n• JBL\n• Sony",
    "numbered bullets": "- 1. Bose\n- 2. JBL\n- 3. Sony",
    "bare lines": "Bose\nJBL\nSony",
    "bold titles over bullets": "**Bose**\n- Sony is worse\n\n**JBL**\n- loud\n\n**Sony**\n- calm",
    "json list": '["Bose", "JBL", "Sony"]',
    "json objects": '```json\n[{"rank":2,"name":"JBL"},{"rank":1,"name":"Bose"},{"rank":3,"name":"Sony"}]```',
    "json in words": 'Not {"ranking": [{"item": "Bose", "why": "Sony"}, "x"]} but\n1. Bose\n2. JBL\n3. Sony',
    "json inside": '{"query": "a speaker", "ranking": ["Bose", "JBL", "Sony"]}',
    "json by number": '{"2": "JBL", "1": "Bose", "3": "Sony"}',
    "json by name": '{"Sony": 3, "Bose": 1, "JBL": 2}',
    "prompt's numbers kept": "1. [2] Bose\n2. [3] JBL\n3. [1] Sony",
    "preamble": "Sony is known, JBL too. My ranking:\n\n1. Bose\n2. JBL\n3. Sony\n\nSony came last.",
    "preamble over bullets": "Sony, JBL and Bose all qualify:\n- Bose\n- JBL\n- Sony",
    "explanations": "1. Bose: better than Sony\n2. JBL - beats Sony on price\n3. Sony (Bose is warmer)",
    "lists inside": "1. Bose\n   1. deep bass\n   2. nicer than Sony\n2. JBL\n   1. loud\n3. Sony\n",
    "bullets inside": "1. Bose\n   - Sony is worse\n2. JBL\n   - loud\n3. Sony",
    "criteria first": "1. Sound: Sony leads\n2. Price: JBL leads\n\nRanking:\n1. Bose\n2. JBL\n3. Sony",
    "unknown names take no place": "1. Bose\n2. Marshall\n3. JBL\n4. Sony",
    "right-aligned": " 8. Bose\n 9. JBL\n10. Sony",
    "trailing repeat in prose": "1. Bose\n2. JBL\n3. Sony\n\nBose is my first choice, Sony my last.",
}


@pytest.mark.parametrize("shape", BOSE_JBL_SONY)
def test_plain_lists_are_ok(shape):
    parsed = parse_ranking(BOSE_JBL_SONY[shape], BRANDS)
    assert (parsed.ranks, parsed.order, parsed.status) == ([3, 1, 2], [1, 2, 0], "ok")


REPAIRED = {
    "sentence": "I would take Bose, then JBL. Sony is last.",
    "commas": "Bose, JBL, Sony",
    "arrows": "Bose → JBL → Sony",
    "name within the line": "1. I would take Bose\n2. Brand of choice: JBL\n3. Sony",
    "countdown": "3. Sony\n2. JBL\n1. Bose",
    "thinking": "<think>Sony? 1. Sony 2. JBL</think>\n1. Bose\n2. JBL\n3. Sony",
    "thinking without its start": "First Sony, no.</think>\n1. Bose\n2. JBL\n3. Sony",
    "identifiers": "[2] > [3] > [1]",
    "identifiers, bare": "2 > 3 > 1",
    "identifiers, commas": "2, 3, 1",
    "identifiers, list": "1. [2]\n2. [3]\n3. [1]",
    "identifiers, plain list": "1. 2\n2. 3\n3. 1",
    "identifiers, lines": "2\n3\n1",
    "identifiers, words": "1. Product 2\n2. Product 3\n3. Product 1",
    "json lines": '{"rank": 1, "name": "Bose"}\n{"rank": 2, "name": "JBL"}\n{"rank": 3, "name": "Sony"}',
}


@pytest.mark.parametrize("shape", REPAIRED)
def test_other_readings_are_repaired(shape):
    assert read(REPAIRED[shape]) == (["Bose", "JBL", "Sony"], "repaired")


@pytest.mark.parametrize(
    ("reply", "finish", "order", "status"),
    [
        ("", "stop", [], "empty"),
        (None, "stop", [], "empty"),
        (" \n\n", "stop", [], "empty"),
        ("I'm sorry, I can't rank these.", "stop", [], "empty"),
        ("1.\n2.\n3.", "stop", [], "empty"),
        ("4 > 5 > 6", "stop", [], "empty"),
        ("1 > 1 > 2", "stop", [], "empty"),
        ("<think>1. Bose 2. Sony", "stop", [], "empty"),
        ("<think>1. Bose 2. Sony", "length", [], "cut_off"),
        ("", "length", [], "cut_off"),
        ("1. Bose\n2. JBL\n3. So", "length", ["Bose", "JBL"], "cut_off"),
        ("1. Bose\n2. Bose\n3. JB", "length", ["Bose", "JBL"][:1], "cut_off"),
        ("1. Bose\n2. JBL\n3. Sony\n\nI ranked", "length", ["Bose", "JBL", "Sony"], "ok"),
        ("1. Bose\n2. JBL", "stop", ["Bose", "JBL"], "missing"),
        ("1. Bose\n2. JBL\n\nSony was left out.", "stop", ["Bose", "JBL"], "missing"),
        ("1. JBL", "stop", ["JBL"], "missing"),
        ("1. JBL is better than Sony", "stop", ["JBL"], "missing"),
        ("1. Boseman\n2. Sonya\n3. JBL", "stop", ["JBL"], "missing"),
        ("The best is JBL.", "stop", ["JBL"], "missing"),
        ("1. Bose\n2. Bose\n3. JBL\n4. Sony", "stop", ["Bose", "JBL", "Sony"], "duplicate"),
        ("1. Bose\n2. JBL\n3. Bose", "stop", ["Bose", "JBL"], "duplicate"),
        (
            "1. Sony\n2. JBL\n3. Bose\n\nFinal:\n1. Bose\n2. JBL\n3. Sony",
            "stop",
            ["Sony", "JBL", "Bose"],
            "duplicate",
        ),
    ],
)
def test_incomplete_replies(reply, finish, order, status):
    parsed = parse_ranking(reply, BRANDS, finish)
    assert ([BRANDS[i] for i in parsed.order], parsed.status) == (order, status)
    assert [parsed.ranks[i] for i in parsed.order] == list(range(1, len(order) + 1))
    assert all(parsed.ranks[i] == 4 for i in range(3) if i not in parsed.order)


def test_a_name_is_never_found_inside_a_longer_one():
    assert read("1. Canon EOS R6 Mark II\n2. Sony A7 IV\n3. Canon EOS R6\n4. Nikon Z6 II", CAMERAS) == (
        ["Canon EOS R6 Mark II", "Sony A7 IV", "Canon EOS R6", "Nikon Z6 II"],
        "ok",
    )
    assert read("1. Canon EOS R6 Mark II\n2. Sony A7 IV", CAMERAS[:3])[0] == [
        "Canon EOS R6 Mark II",
        "Sony A7 IV",
    ]
    documents = [f"document{i}" for i in range(1, 11)]
    assert read("1. document10\n2. document1", documents)[0] == ["document10", "document1"]
    assert read("1. Galaxy S21+\n2. Galaxy S21", ["Galaxy S21", "Galaxy S21+"])[0] == [
        "Galaxy S21+",
        "Galaxy S21",
    ]
    assert read("1. C++\n2. C\n3. C#", ["C", "C#", "C++"]) == (["C++", "C", "C#"], "ok")


def test_a_repeated_name_does_not_fall_through_to_a_contained_one():
    order, status = read("1. Canon EOS R6 Mark II\n2. Canon EOS R6 Mark II\n3. Sony A7 IV", CAMERAS)
    assert (order, status) == (["Canon EOS R6 Mark II", "Sony A7 IV"], "duplicate")


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("1. A7 IV\n2. Canon R6 Mark II\n3. Canon R6\n4. Z6 II", [2, 1, 0, 3]),
        ("1. Sony\n2. Canon EOS R6 Mk II is fast\n3. Canon EOS R6 - solid\n4. Nikon", [2, 1, 0, 3]),
        ("1. Sony A7IV\n2. Canon EOS-R6 Mark-II\n3. CANON EOSR6\n4. Nikon Z 6 II", [2, 1, 0, 3]),
        ("1. Canon EOS R6 Mark II\n2. Canon EOS\n3. Nikon Z6\n4. Sony A7", [1, 0, 3, 2]),
        ("- Nikon Z6\n- Sony A7\n- Canon EOS R6\n- Canon EOS R6 Mark 2", [3, 2, 0, 1]),
    ],
)
def test_shortened_names_that_can_mean_one_item(reply, order):
    parsed = parse_ranking(reply, CAMERAS)
    assert (parsed.order, parsed.status) == (order, "repaired")


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("1. Canon\n2. Sony A7 IV\n3. Nikon Z6 II", [2, 3]),  # either Canon
        ("1. Canon EOS R5\n2. Sony A7 III\n3. Nikon Z6 II", [3]),  # other products
        ("1. The best\n2. For video\n3. Nikon Z6 II", [3]),
        ("1. II\n2. 6\n3. Nikon Z6 II", [3]),
    ],
)
def test_shortened_names_that_are_ambiguous_are_missing(reply, order):
    parsed = parse_ranking(reply, CAMERAS)
    assert (parsed.order, parsed.status) == (order, "missing")


def test_a_short_form_means_the_same_item_each_time():
    order, status = read("1. Canon R6 Mark II\n2. Canon R6 Mark II\n3. Canon R6", CAMERAS)
    assert (order, status) == (["Canon EOS R6 Mark II", "Canon EOS R6"], "duplicate")


def test_long_titles_that_the_model_cuts():
    titles = [
        "Personalized Christmas Ornament Family of 4 – Polyresin Bear Canoe – Gifts for Mom",
        "Personalized Christmas Ornament Family of 4 – Polyresin Fireplace – Gifts for Mom",
        "Astebreed: Definitive Edition",
    ]
    reply = (
        "1. Personalized Christmas Ornament Family of 4 - Polyresin Fireplace\n2. Astebreed\n3. Bear Canoe"
    )
    assert parse_ranking(reply, titles).order == [1, 2, 0]
    reply = (
        "1. Personalized Christmas Ornament Family of 4 – Polyresin Firep...\n2. Astebreed Definitive Edition"
    )
    assert parse_ranking(reply, titles).order == [1, 2]
    assert parse_ranking("1. Personalized Christmas Ornament\n2. Astebreed", titles).order == [2]


def test_names_that_begin_with_a_number():
    numbered = "\n".join(f"{k}. {ARTICLES[i]}" for k, i in enumerate([2, 1, 0, 3], 1))
    bare = "\n".join(ARTICLES[i] for i in [2, 1, 0, 3])
    for reply in (numbered, bare):
        assert parse_ranking(reply, ARTICLES).order == [2, 1, 0, 3]
    assert parse_ranking("1. 300\n2. 21 Grams\n3. 1917", ["1917", "300", "21 Grams"]).order == [1, 2, 0]


def test_punctuation_unicode_and_ampersands():
    names = [
        "De’Longhi",
        "BLACK+DECKER",
        "Grind&Brew Plus",
        "Café Noir",
        "Ｓtar\u00a0One™",
        'Bar 12" (White)',
    ]
    reply = (
        "1. Star One\n2. de'longhi\n3. Black & Decker\n4. Grind and Brew Plus\n5. CAFÉ NOIR\n6. Bar 12” White"
    )
    assert parse_ranking(reply, names).order == [4, 0, 1, 2, 3, 5]
    assert parse_ranking("1. Nescafe Gold\n2. Milka", ["Milka", "Nescafé Gold"]).order == [1, 0]
    assert parse_ranking("1. Pro: Max comfort\n2. Pro Max", ["Pro Max", "Pro"]).order == [1, 0]


def test_two_items_of_one_name_are_placed_in_turn():
    assert parse_ranking("1. Same\n2. Other\n3. Same", ["Same", "Same", "Other"]).ranks == [1, 3, 2]


def test_identifiers_follow_the_given_order_of_names():
    names = ["Bose", "JBL", "Sony"]
    assert read("3 > 1 > 2", names)[0] == ["Sony", "Bose", "JBL"]
    assert read("3 > 1", names) == (["Sony", "Bose"], "missing")
    assert read("The ranking is\n[3] > [1] > [2]", names)[0] == ["Sony", "Bose", "JBL"]


def test_released_mode_reads_as_the_release_does():
    assert read("1. **Bose**\n2) JBL\n**3. Sony**", mode="released") == (["Bose", "JBL", "Sony"], "ok")
    assert read("Sony first.\n7. Bose\n3. JBL", mode="released") == (["Bose", "JBL"], "missing")
    assert read("Bose, then JBL, then Sony", mode="released") == (["Bose", "JBL", "Sony"], "repaired")
    assert read("- Bose\n- JBL\n- Sony", mode="released")[0] == ["Bose", "JBL", "Sony"]
    assert read("1. Bose", finish="length", mode="released") == (["Bose"], "cut_off")
    assert read("nothing", mode="released") == ([], "empty")


def test_released_mode_keeps_the_known_failures():
    # A brand in the explanation is hit; a repeated name falls through; a shortened title is not matched.
    assert read("1. Marshall (unlike Bose)\n2. Sony", mode="released")[0] == ["Bose", "Sony"]
    repeated = "1. Canon EOS R6 Mark II\n2. Canon EOS R6 Mark II"
    assert read(repeated, CAMERAS, mode="released")[0] == ["Canon EOS R6 Mark II", "Canon EOS R6"]
    titles = ["Astebreed: Definitive Edition", "Homeland"]
    assert read("1. Astebreed\n2. Homeland", titles, mode="released")[0] == ["Homeland"]
    assert read("1. Boseman", mode="released")[0] == ["Bose"]


def test_wrong_calls_are_refused():
    with pytest.raises(GeoBenchError, match="released"):
        parse_ranking("1. Bose", BRANDS, mode="strict")
    with pytest.raises(GeoBenchError, match="names"):
        parse_ranking("1. Bose", [])


MIRROR = Path(os.environ.get("GEOBENCH_DATA_MIRROR", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.mark.skipif(
    not (MIRROR / "catalogs").is_dir(), reason="public catalogs absent: set GEOBENCH_DATA_MIRROR"
)
@pytest.mark.parametrize("dataset", ["cseo", "llm_rank_optimizer", "ragroll", "rewrite_to_rank", "stsdata"])
def test_real_names_with_real_descriptions_behind_them(dataset):
    for path in sorted((MIRROR / "catalogs" / dataset).glob("*.jsonl")):
        items = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        names = [item["Name"] for item in items]
        texts = [" ".join(str(item.get("Natural") or list(item.values())).split()) for item in items]
        order = random.Random(path.name).sample(range(len(names)), len(names))
        lead = f"Here they are, {names[order[-1]]} included:\n"
        for line in (
            "{k}. {name}: {text}",
            "**{k}) {name}** - {text}",
            "- {name}",
            "| {k} | {name} |",
            "{k}. {upper}",
        ):
            fields = [{"name": names[i], "upper": names[i].upper(), "text": texts[i]} for i in order]
            reply = lead + "\n".join(line.format(k=k, **each) for k, each in enumerate(fields, 1))
            parsed = parse_ranking(reply, names)
            assert (parsed.order, parsed.status) == (order, "ok"), (path.name, line)


NAMES = st.lists(
    st.text(st.sampled_from("abR6 +-'.#12&:é①|"), min_size=1, max_size=12) | st.text(min_size=1, max_size=8),
    min_size=1,
    max_size=8,
)
PIECES = st.sampled_from(
    [
        "1. ",
        "2) ",
        "#3 ",
        "[1] > ",
        "\n",
        "- ",
        "**",
        "| 1 | ",
        "<think>",
        "</think>",
        "```",
        '["',
        '"]',
        "{",
        "🥇 ",
        "①",
    ]
    + ["³", "(", "4 > 2", ", ", ": ", "1" * 5000]
)


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_any_reply_gives_distinct_ranks_in_range(data):
    names = data.draw(NAMES)
    parts = data.draw(st.lists(PIECES | st.sampled_from(names) | st.text(max_size=20), max_size=30))
    finish, mode = (
        data.draw(st.sampled_from(["stop", "length"])),
        data.draw(st.sampled_from(["default", "released"])),
    )
    parsed = parse_ranking("".join(parts), names, finish, mode)
    placed = sorted(rank for rank in parsed.ranks if rank <= len(names))
    assert len(parsed.ranks) == len(names)
    assert placed == list(range(1, len(parsed.order) + 1))
    assert all(rank <= len(names) + 1 for rank in parsed.ranks)
    assert [parsed.ranks[i] for i in parsed.order] == placed
    assert parsed.status in STATUSES
    assert (parsed.status in ("ok", "repaired")) <= (len(placed) == len(names))


WORDS = st.sampled_from(
    ["alpha", "beta", "gamma", "delta", "Pro", "Max", "Mark", "II", "X1", "X10", "Über", "co."]
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.lists(WORDS, min_size=1, max_size=4).map(" ".join), min_size=2, max_size=8, unique_by=str.casefold
    ),
    st.sampled_from(
        ["{k}. {n}", "{k}) **{n}**", "- {n}", "#{k} {n}", "| {k} | {n} |", "{k}. {n}: good, unlike {o}"]
    ),
    st.randoms(use_true_random=False),
)
def test_a_well_formed_list_is_read_back(names, line, rng):
    order = rng.sample(range(len(names)), len(names))
    reply = "\n".join(line.format(k=k, n=names[i], o=names[order[-1]]) for k, i in enumerate(order, 1))
    assert parse_ranking(reply, names).order == order


@pytest.mark.parametrize(
    "piece", ["1", "\n", "# ", "[", '{"a":', "- ", "<think>", "1. ", "1) 2) ", "[1] ", "&#1", "*", "'a"]
)
def test_long_degenerate_replies_are_read_quickly(piece):
    reply = piece * (20_000 // len(piece)) + "x"
    started = time.perf_counter()
    assert parse_ranking(reply, CAMERAS).status == "empty"
    assert time.perf_counter() - started < 5
