"""Checks of a corpus beyond its schema. `python -m geobench.search.corpus_check` prints every fault and exits with 1 if there is one."""

import re
import sys
from pathlib import Path

from geobench.search.corpus import Instance, Triple, load_instances, load_triples
from geobench.search.keys import count, normalise
from geobench.search.rewriting import claim_sentences

SOURCE_WORDS = (120, 250)
TRIPLE_WORDS = (40, 260)
TIMES = 3  # sentences of an ID text that must assert the false claim
MARKUP = re.compile(r"<!--|</?[a-z][a-z0-9]*(?:\s+[\w-]+=(?:\"[^\"]*\"|'[^']*'|[^\s>]+))*\s*/?>", re.IGNORECASE)
LEAK = 0.30  # largest TF-IDF cosine of a training text to an evaluation text


def words(text: str) -> int:
    return len(text.split())


def check_instance(one: Instance) -> list[str]:
    """Faults of one instance, each a sentence that starts with its name."""
    faults = [*_lengths(one), *_facts(one), *_keys(one)]
    others = [s for n, s in enumerate(one.sources, 1) if n != one.target]
    told = [s.url for s in others if count(s.text, one.key.true)]
    if one.contested and not told:
        faults.append("is contested, but no other source states the truth")
    if not one.contested and told:
        faults.append(f"is not contested, but {told[0]} states the truth")
    faults += [f"{s.url} states the false claim" for s in others if count(s.text, one.key.false)]
    return [f"{one.name}: {fault}" for fault in faults]


def check_usable(one: Instance) -> list[str]:
    """Faults that make an instance of any corpus meaningless: markup in a text, an IP text that is the clean text, an ID text
    without the false claim (by its key, or by the claim's content words where there is none)."""
    faults = [f"{label} holds HTML; take its text first" for label, text in _texts(one) if MARKUP.search(text)]
    if " ".join(one.ip_text.split()) == " ".join(one.clean_text.split()):
        faults.append("the IP text equals the clean text; expected a rewrite")
    stated = count(one.id_text, one.key.false) if one.key else claim_sentences(one.id_text, one.false_claim)
    if not stated:
        faults.append(f"the false claim {one.false_claim!r} is nowhere in the ID text")
    return [f"{one.name}: {fault}" for fault in faults]


def _texts(one: Instance) -> list[tuple[str, str]]:
    return [*((s.url, s.text) for s in one.sources), ("IP", one.ip_text), ("ID", one.id_text)]


def _lengths(one: Instance):
    for label, text in _texts(one):
        if not SOURCE_WORDS[0] <= words(text) <= SOURCE_WORDS[1]:
            yield f"{label} has {words(text)} words, expected {SOURCE_WORDS[0]} to {SOURCE_WORDS[1]}"
        if MARKUP.search(text):
            yield f"{label} holds HTML"


def _facts(one: Instance):
    if not one.facts:
        yield "has no facts that both rewrites must keep"
    for label, text in (("clean", one.clean_text), ("IP", one.ip_text), ("ID", one.id_text)):
        for fact in one.facts:
            if normalise(fact) not in normalise(text):
                yield f"fact {fact!r} is not in the {label} text"


def _keys(one: Instance):
    false, true = one.key.false, one.key.true
    if count(one.id_text, false) < TIMES:
        yield f"ID asserts the false claim {count(one.id_text, false)} times, expected {TIMES}"
    if count(one.id_text, true):
        yield "ID asserts the truth"
    for label, text in (("clean", one.clean_text), ("IP", one.ip_text)):
        if not count(text, true):
            yield f"{label} does not assert the truth by its key"
        if count(text, false):
            yield f"{label} asserts the false claim by its key"
    claims = ("false", false, true, [one.false_claim, *one.false_paraphrases])
    truths = ("true", true, false, [one.true_statement, *one.true_paraphrases])
    for kind, key, other, texts in (claims, truths):
        for text in texts:
            if not count(text, key) or count(text, other):
                yield f"the {kind} key does not fit {text!r}"


def check_triple(one: Triple) -> list[str]:
    """Faults of one triple, each a sentence that starts with its name."""
    faults, key = [], one.key
    for label, text in (("clean", one.clean), ("ip", one.ip), ("id", one.id), ("control", one.control)):
        if not TRIPLE_WORDS[0] <= words(text) <= TRIPLE_WORDS[1]:
            faults.append(f"{label} has {words(text)} words, expected {TRIPLE_WORDS[0]} to {TRIPLE_WORDS[1]}")
        wanted, never = (key.false, key.true) if label == "id" else (key.true, key.false)
        least = TIMES if label in ("id", "control") else 1
        if count(text, wanted) < least:
            faults.append(f"{label} asserts its statement {count(text, wanted)} times, expected {least}")
        if count(text, never):
            faults.append(f"{label} asserts the other statement")
    if one.attribution and one.attribution.lower() not in one.ip.lower():
        faults.append(f"ip does not name {one.attribution!r}")
    return [f"{one.name}: {fault}" for fault in faults]


def check_leakage(instances: list[Instance], triples: list[Triple], limit: float = LEAK) -> list[str]:
    """Topics or texts that the two parts share: equal names or topics, or a clean training text too like an evaluation text."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    faults = [
        f"{t.name}: name or topic is also in the evaluation part"
        for t in triples
        for i in instances
        if t.name == i.name or t.topic == i.topic
    ]
    left, right = [t.clean for t in triples], [i.clean_text + "\n" + i.query for i in instances]
    matrix = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit_transform(left + right)
    cosine = (matrix[: len(left)] @ matrix[len(left) :].T).toarray()
    for n, m in zip(*(cosine > limit).nonzero()):
        faults.append(f"{triples[n].name}: cosine {cosine[n, m]:.2f} to evaluation instance {instances[m].name}, limit {limit}")
    return faults


def check_whole(instances: list[Instance], triples: list[Triple]) -> list[str]:
    """Counts that the embedded corpus promises."""
    faults = []
    contested = sum(i.contested for i in instances)
    if len(instances) < 24 or 2 * contested != len(instances):
        faults.append(f"corpus: {len(instances)} instances, {contested} contested; expected at least 24, half of them contested")
    categories = {c for t in triples for c in t.categories}
    if len(triples) < 60 or len(categories) < 5:
        faults.append(f"corpus: {len(triples)} triples over {len(categories)} categories; expected at least 60 over 5")
    named = sum(t.attribution is not None for t in triples)
    if 3 * named < len(triples):
        faults.append(f"corpus: {named} of {len(triples)} IP texts name an attribution; expected a third")
    return faults


def check_corpus(folder: Path | None = None) -> list[str]:
    """Every fault of the embedded corpus (or of one in another folder)."""
    instances = load_instances(folder / "instances.jsonl" if folder else None)
    triples = load_triples(folder / "training.jsonl" if folder else None)
    faults = [f for one in instances for f in check_instance(one)] + [f for one in triples for f in check_triple(one)]
    return faults + check_leakage(instances, triples) + check_whole(instances, triples)


if __name__ == "__main__":
    found = check_corpus()
    print("\n".join(found) or "no faults")
    sys.exit(bool(found))
