"""How much work notebooks 13 to 15 of the search track are: the guard, the defences and the detectors of both tracks.

Upper bounds, as in search.workload: every defence changes every context that it may, and no two make the same one. An encoder reads a text
once per notebook: the trained guard its own, the untrained one for the frozen prototypes and the regression.
"""

from pathlib import Path

from geobench.prompts import load_prompt
from geobench.search.corpus import CONDITIONS
from geobench.search.defences.contexts import CHUNK_DEFENCES, parse_configuration
from geobench.search.defences.reply_guards import TOKENS
from geobench.search.workload import (
    PAGE,
    Size,
    answers,
    candidates,
    cut,
    embedded,
    graded,
    reranked,
    rewritten,
    sentence_work,
    shown,
    writes,
)
from geobench.workload import Work, fixed, yes_or_no
from geobench.workload import tokens as counted

TRAINING = 3  # a backward pass counts as two forward ones
TEMPLATES = 3  # mechanical ID texts per query in notebook 15 (search.defences.transfer)
TEMPLATE = 60  # tokens of a guard model's own chat template: an assumption


def training_part(p) -> list[tuple[int, ...]]:
    """Tokens of every training document: clean, IP, ID and, where there is one, control. Of public queries each may become one."""
    if p.search_corpus == "geo_bench":
        return [(PAGE,) * 3] * rewritten(p)
    from geobench.search.defences.guard_run import read_part

    states = ("clean", "ip", "id", "control")
    return [tuple(counted(text) for s in states if (text := getattr(one, s)) is not None) for one in read_part(p, Path())]


def defence_work(p, queries: list[Size]) -> list[Work]:
    """Notebooks 13, 14 and 15."""
    triples = training_part(p)
    targets = [text for size in queries for text in size.texts]
    found = [*_training(p, triples), *_encoders(p, "13_guard", triples, targets + [n for one in triples for n in one])]
    found += reranked(p, queries, "14_defences")
    found += _encoders(p, "14_defences", triples, [n for size in queries for n in size.distinct])
    sample = queries[: p.search_guard_instances]
    found += [*_reply_guards(p, sample), *_self_checks(p, sample), *_defended(p, queries, sample)]
    found += reranked(p, queries, "15_search_statistics")
    found += _encoders(p, "15_search_statistics", triples, targets + [size.texts[0] for size in queries for _ in range(TEMPLATES)])
    read = sum(min(size, p.perplexity_limit) for size in targets)
    judged = yes_or_no("15_search_statistics", p.reference_model, "judge of the ranking track", load_prompt("judge"), targets)
    return [*found, Work("15_search_statistics", p.reference_model, "perplexity", len(targets), read), judged]


def _training(p, triples) -> list[Work]:
    """The guard's epochs over the chunks of three states, and those of each fold where the guard is trained there too."""
    rounds = 1 - bool(p.search_guard_folder) + p.search_guard_fold_training * (p.search_guard_folds - 1)  # a fold leaves 1 / folds out
    chunks, read = (sum(column) for column in zip(*(cut(p, size) for one in triples for size in one[:3]), (0, 0)))
    times = rounds * p.search_guard_epochs * (1 - p.search_guard_holdout)
    work = Work("13_guard", p.search_guard_encoder, "training of the guard", round(times * chunks), TRAINING * round(times * read))
    return [work] if rounds else []


def _encoders(p, notebook: str, triples, documents) -> list[Work]:
    """What both encoders read: the training part (its clean and ID texts twice: whole, to find borderline ones), and the documents."""
    part = [size for one in triples for size in one[:3]]
    untrained = embedded(p, notebook, p.search_guard_encoder, "detectors on the untrained encoder", [*part, *documents])
    untrained.calls += 2 * len(triples)
    untrained.tokens_in += sum(one[0] + one[2] for one in triples)
    return [untrained, embedded(p, notebook, p.search_guard_encoder, "the trained guard", [*part, *documents])]


def _reply_guards(p, sample: list[Size]) -> list[Work]:
    """Granite Guardian and Llama Guard on every chunk that would be shown."""
    found = []
    for kind, model in p.search_guard_models.items():
        work = Work("14_defences", model, f"guard {kind}")
        for size in sample if kind in ("granite", "llama_guard") else ():
            for n in range(len(CONDITIONS)):
                count, each = candidates(p, size, n, p.search_top)
                work.add(count, each + TEMPLATE, TOKENS[kind])
        found += [work] if work.calls else []
    return found


def _self_checks(p, sample: list[Size]) -> list[Work]:
    """NeMo's self-check, ours and the package's, of every draft that a model writes."""
    prompt, found = load_prompt("search_self_check"), []
    drafts = p.search_answer_tokens + fixed(prompt, "system", "user")
    for kind in (k for k in p.search_guard_models if k.startswith("nemo")):
        work = Work("14_defences", p.search_guard_models[kind], f"guard {kind}")
        for size in sample * sum(victim.endswith(":generate") for victim in p.search_victims):
            for n in range(len(CONDITIONS)):
                work.add(1, drafts + shown(p, size, n), TOKENS["nemo"])
        found += [work] if work.calls else []
    return found


def _defended(p, queries: list[Size], sample: list[Size]) -> list[Work]:
    """Answers to the contexts that each configuration leaves, and, where there is no key, their grades; sentences of an extractive answer
    are embedded in notebook 12. Disagreement embeds those that hold numbers."""
    kinds, found, written = ("granite", "llama_guard"), [], []
    configurations = [parse_configuration(c, CHUNK_DEFENCES)[0] for c in p.search_defences]
    contexts = [(size, n) for c in configurations for size in (sample if c in kinds else queries) for n in range(len(CONDITIONS))]
    for victim in p.search_defence_victims or p.search_victims:
        if not victim.endswith(":extractive"):
            found.append(answers(p, victim, contexts, "14_defences", "answers of {} under defences"))
        written += [size for size, _ in contexts if writes(victim) and not size.keyed]
    notebook = "14_defences" if "disagreement" in configurations else "15_search_statistics"
    return [*found, *graded(p, written, "14_defences"), sentence_work(p, queries, notebook, "disagreement")]
