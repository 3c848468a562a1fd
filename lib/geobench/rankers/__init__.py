"""Rankers by name: `MODEL:READ-OUT` (for example `smollm2-135m:attention`) or `bm25`."""

from geobench import heads
from geobench.errors import GeoBenchError
from geobench.models import READ_OUTS, spec


def parse_name(name: str) -> tuple[str | None, str]:
    """(model, read-out) of a ranker's name, checked against the registry without loading anything."""
    if name == "bm25":
        return None, "bm25"
    model, _, read_out = name.rpartition(":")
    if not model:
        raise GeoBenchError(f"ranker `{name}`: expected MODEL:READ-OUT (for example smollm2-135m:attention) or bm25")
    row = spec(model)
    if read_out not in row.read_outs:
        raise GeoBenchError(f"ranker `{name}`: `{model}` offers {', '.join(row.read_outs)}; read-outs are {', '.join(READ_OUTS)}")
    return model, read_out


def folder_name(name: str) -> str:
    """The ranker's name as a folder: `smollm2-135m.attention`."""
    return name.replace(":", ".").replace("/", "_")


def ranker_identity(name: str) -> dict:
    """What of a ranker's name determines its ranks, without loading it (its prompts included)."""
    from geobench.prompts import prompt_sha

    model, read_out = parse_name(name)
    shown = {**(spec(model).identity() if model else {}), "read_out": read_out, "prompt": prompt_sha("ranking")}
    return shown | (heads.identity(spec(model)) if model and read_out == "attention" else {})


def open_ranker(
    name: str, batch_size: int = 8, tokens: int = 512, parse_mode: str = "default", structure: str | None = None,
    window: int | None = None, stride: int | None = None,
):
    """Load a ranker; see rankers.base.Ranker for what it does. tokens to stride are of the `generate` read-out."""
    from geobench.models import open_model
    from geobench.rankers import pointwise

    model, read_out = parse_name(name)
    if model is None:
        return pointwise.bm25(name)
    engine = open_model(model, batch_size=batch_size)
    if read_out == "attention":
        from geobench.rankers.attention import AttentionRanker

        return AttentionRanker(name, engine)
    if read_out == "generate":
        from geobench.rankers.generate import GenerateRanker
        from geobench.rankers.windows import WindowRanker

        if window:
            return WindowRanker(name, engine, tokens, parse_mode, structure, window, stride)
        return GenerateRanker(name, engine, tokens, parse_mode, structure)
    if read_out == "cross_encoder" and spec(model).kind == "causal_lm":
        return pointwise.causal_cross_encoder(name, engine)
    return pointwise.encoder(name, engine, read_out)


def open_for(params, name: str):
    """The ranker of a run that measures: replies, structure and windows as the parameters say."""
    p = params
    return open_ranker(name, p.batch_size, p.rank_tokens, p.parse_mode, p.rank_structure, p.generate_window, p.generate_stride)
