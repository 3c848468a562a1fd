"""Judge: log-odds of yes against no when an LM is asked whether one description has been manipulated.

Score: difference of two log-sum-exps of next-token log-probabilities, {Yes, " Yes", yes} against {No, " No", no}, first
sub-token each but for one that both share, kept in float32: clean scores lie near 1e-18 as probabilities, where a sigmoid saturates.
"""

from collections.abc import Iterator

import numpy as np

from geobench.errors import GeoBenchError
from geobench.lists import one_line
from geobench.prompts import load_prompt, prompt_sha, render

YES, NO = ("Yes", " Yes", "yes"), ("No", " No", "no")


def yes_no_tokens(tokenizer) -> tuple[list[int], list[int]]:
    """First sub-token of each answer, yes then no, without repeats; one that begins answers of both kinds tells nothing and is left out.

    GeoBenchError where that leaves one side without any.
    """
    yes, no = ([tokenizer(word, add_special_tokens=False)["input_ids"][0] for word in words] for words in (YES, NO))
    told = [[i for i in dict.fromkeys(mine) if i not in other] for mine, other in ((yes, no), (no, yes))]
    if not all(told):
        raise GeoBenchError(f"yes or no: the tokenizer begins {', '.join(YES + NO)} with the same tokens, so that none tells them apart")
    return told[0], told[1]


def log_odds(logprobs: np.ndarray, yes: int) -> float:
    """log sum exp of the first `yes` entries minus that of the rest."""
    return float(np.logaddexp.reduce(logprobs[:yes]) - np.logaddexp.reduce(logprobs[yes:]))


def identity(engine) -> dict:
    """What determines the judge's scores."""
    return {**engine.identity(), "detector": "judge", "prompt": prompt_sha("judge")}


def score(engine, texts: list[str], names: list[str]) -> Iterator[dict]:
    """{"score": log-odds} per text, in order; higher means more likely manipulated. `control_tokens`: what was broken in the text."""
    prompt = load_prompt("judge")

    def messages(text: str) -> list[dict]:
        return [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": render(prompt["user"], text=text)}]

    yes, no = yes_no_tokens(engine.tokenizer)
    shared = engine.shared_prefix(messages)
    control = getattr(engine, "control", None)
    for text, row in zip(texts, engine.next_token_logprobs([messages(one_line(t)) for t in texts], yes + no, shared, names)):
        broken = control.found(one_line(text)) if control else []
        yield {"score": log_odds(row, len(yes))} | ({"control_tokens": broken} if broken else {})
