"""Naturalness of a text: next-token log-odds of yes against no under a local model (params/prompts/search_naturalness.yaml)."""

from geobench.detectors.judge import log_odds, yes_no_tokens
from geobench.prompts import load_prompt, render


def score(engine, texts: list[str], names: list[str]) -> list[float]:
    """Log-odds per text; higher is more natural."""
    prompt = load_prompt("search_naturalness")

    def messages(text: str) -> list[dict]:
        return [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": render(prompt["user"], text=text)}]

    yes, no = yes_no_tokens(engine.tokenizer)
    rows = engine.next_token_logprobs([messages(t) for t in texts], yes + no, engine.shared_prefix(messages), names)
    return [log_odds(row, len(yes)) for row in rows]
