"""The evaluation ladder with a model: the same texts ranked under published-script settings, one factor at a time.

Factors: `items` (an object per line, or a numbered line), `query` (a recommendation, or the protocol's), `template` (the Llama-2
wrapper, or the model's own), `decoding` (sampled, or greedy; only where replies are generated), `orders` (the first order, or the
median of all). The edits stay what they are, so no step mixes a change of text into a change of script.
"""

import copy
from itertools import islice

from geobench import catalog
from geobench.engines.decoding import Decoding
from geobench.errors import GeoBenchError
from geobench.metrics import per_target
from geobench.orders import evaluation_orders
from geobench.prompts import load_prompt, prompt_sha, render
from geobench.rankers import open_ranker, parse_name
from geobench.rankers.base import Job
from geobench.records import UNIT, Records
from geobench.run import sha, unit

FACTORS = {
    "items": ("objects", "numbered"),
    "query": ("recommendation", "protocol"),
    "template": ("llama-2", "own"),
    "decoding": ("sampled", "greedy"),
    "orders": ("one", "median"),
}
READ_OUTS = {"attention": ("items", "query", "template", "orders"), "generate": tuple(FACTORS)}


def factors_of(ranker: str) -> dict[str, tuple[str, str]]:
    """The factors that mean something for a ranker's read-out; GeoBenchError where scripts do not (pointwise read-outs)."""
    read_out = parse_name(ranker)[1]
    if read_out not in READ_OUTS:
        raise GeoBenchError(
            f"evaluation ladder: `{ranker}` sees one item at a time, so it has no script; expected {' or '.join(READ_OUTS)}"
        )
    return {name: FACTORS[name] for name in READ_OUTS[read_out]}


def scripted(ranker, config: dict):
    """The ranker with the published setting wherever `config` asks for it; the loaded model is shared, not copied."""
    ladder = load_prompt("ladder")
    changed, prompt = copy.copy(ranker), dict(ranker.prompt)
    if config["items"] == "objects":
        prompt["item_line"] = ladder["item_line"]
    if config["query"] == "recommendation":
        prompt |= {key: ladder[key] for key in ("query", "neutral_query")}
    if config["template"] == "llama-2":
        changed.engine = copy.copy(ranker.engine)
        control = ranker.engine.control
        changed.engine.chat_text = lambda messages, *_: render(
            ladder["wrapper"], **{m["role"]: control.broken(m["content"]) for m in messages}
        )
    if config.get("decoding") == "sampled" and hasattr(ranker, "decoding"):
        changed.decoding = Decoding(ranker.decoding.max_new_tokens, ladder["temperature"], ladder["top_p"])
    changed.prompt = prompt
    if hasattr(changed, "_clean"):
        changed._list, changed._clean = None, {}
    return changed


class Scripts:
    """A run's texts under any configuration: `table(config)` is its per-target table; finished rankings are kept in `ladder/`."""

    def __init__(self, work):
        p = work.params
        self.work, self.name = work, p.main_ranker
        self.factors = factors_of(self.name)
        windows = p.generate_window, p.generate_stride
        self.ranker = open_ranker(self.name, p.batch_size, p.rank_tokens, p.parse_mode, p.rank_structure, *windows)
        edits = work.edits()
        self.variants = [v for v in edits if p.ladder_variants is None or v in p.ladder_variants]
        if not self.variants:
            raise GeoBenchError(f"ladder_variants: none of {', '.join(p.ladder_variants)} is among the run's edits ({', '.join(edits)})")
        self.edits = {v: edits[v] for v in self.variants}

    def table(self, config: dict):
        """Per-target table of all variants under one configuration (a setting per factor)."""
        clean, edits = self._records({k: v for k, v in config.items() if k != "orders"})
        if config["orders"] == "one":
            clean, edits = ([r | {"orders": r["orders"][:1], "ranks": r["ranks"][:1]} for r in rows] for rows in (clean, edits))
        return per_target(clean, edits, self.name, (0.1,))

    def _records(self, config: dict) -> tuple[list[dict], list[dict]]:
        """(clean, edited) rank records of one script, made where they are not there yet."""
        p, ranker = self.work.params, scripted(self.ranker, config)
        shown = {"kind": "ladder", "ranker": ranker.identity(), "script": config, "ladder": prompt_sha("ladder"), "orders": p.orders,
                 "seed": p.seed,
                 "catalog": catalog.catalog_sha(self.work.selected)}  # fmt: skip
        jobs = {(j.list.dataset, j.list.name, j.target, j.variant): j for j in self._jobs()}
        file = self.work.folder / "ladder" / ("-".join(config.values()) + ".jsonl")
        with Records(file, shown, (*UNIT, "variant")) as records:
            todo = [
                j
                for key, j in jobs.items()
                if records.done.get(key, {}).get("text_sha") != (sha(j.text) if j.text else None) or key not in records.done
            ]
            for job, ranking in ranker.rank(todo) if todo else ():
                ranks = ranking.ranks if job.target is None else [row[job.target - 1] for row in ranking.ranks]
                records.append({"dataset": job.list.dataset, "list": job.list.name, "target": job.target, "variant": job.variant,
                                "orders": job.orders, "ranks": ranks, "text_sha": sha(job.text) if job.text else None})  # fmt: skip
            done = [dict(records.done[key]) for key in jobs]
        done = [r | {"orders": [list(o) for o in r["orders"]]} for r in done]
        return [r for r in done if r["target"] is None], [r for r in done if r["target"] is not None]

    def _jobs(self):
        """List by list: the clean one first, then the first targets' edits."""
        p = self.work.params
        for chosen in self.work.selected:
            lst = chosen.list
            orders = evaluation_orders(lst.key, len(lst), p.orders, p.seed)
            orders = tuple(tuple(int(i) for i in order) for order in orders)
            yield Job(lst, orders)
            for target in islice(chosen.targets, p.ladder_targets):
                for variant, rows in self.edits.items():
                    row = next((r for r in rows if unit(r) == (lst.dataset, lst.name, target)), None)
                    if row:
                        yield Job(lst, orders, target, row["text"], variant)


def script_ladders(work):
    """The ladder of each variant, one under the other: `texts` (variant), then ladder.ladder's columns with `settings` in words."""
    import pandas as pd

    from geobench.ladder import ladder

    scripts, parts = Scripts(work), []
    for variant in scripts.variants:
        made = ladder(
            scripts.factors,
            lambda config, v=variant: scripts.table(config).query("variant == @v"),
            resamples=work.params.resamples,
            seed=work.params.seed,
        )
        made.insert(3, "settings", made[list(scripts.factors)].agg("; ".join, axis=1))
        parts.append(made.drop(columns=list(scripts.factors)).assign(texts=variant))
    return pd.concat(parts, ignore_index=True)[["texts", *parts[0].columns.drop("texts")]]
