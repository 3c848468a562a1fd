"""The evaluation ladder with a model: the same texts ranked under published-script settings, one factor at a time.

Factors: `selection` of an optimised text among its tested checkpoints (the best rank of all of them under the very script that then
counts, the last one, or the one that orders held out from the evaluation chose; only for edits that keep a trace), `items` (an object
per line, or a numbered line), `query` (a recommendation, or the protocol's), `template` (the Llama-2 wrapper, or the model's own),
`decoding` (sampled, or greedy; only where replies are generated), `orders` (the first order, or the median of all, where there are
several). The edits stay what they are, so no step mixes a change of text into a change of script.
"""

import copy
import warnings
from itertools import islice
from pathlib import Path

import numpy as np

from geobench import catalog
from geobench.attacks.base import Task, appended
from geobench.engines.decoding import Decoding
from geobench.ladder import configurations
from geobench.ladder_factors import FACTORS, SCRIPT, factors_of
from geobench.metrics import per_target
from geobench.progress import expect
from geobench.prompts import load_prompt, prompt_sha, render
from geobench.rankers import folder_name, open_for, parse_name
from geobench.rankers.base import Job
from geobench.ranking import REPLIED, Protocol, known_ranks, protocol
from geobench.records import UNIT, Records
from geobench.run import sha, unit

KEY = (*UNIT, "variant", "text_sha")


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


def checkpoints(task: Task, edit: dict, selection: str) -> list[str]:
    """The texts that a selection ranks, in order of testing and each once; an edit without a trace has its own alone."""
    from geobench.attacks.optimise import chosen

    tested = [row for row in edit.get("trace") or () if "ranks" in row]
    if not tested:
        return [edit["text"]]
    rows = tested if selection == "best of all" else [chosen(tested, "last" if selection == "last" else "held_out")]
    return list(dict.fromkeys(appended(task, row["suffix"])["text"] for row in rows))


class Scripts:
    """A run's texts under any configuration of one ranker: `table(variant, config)` is a variant's per-target table.

    Finished rankings are kept in `ladder/<ranker>/`, one file per script. The run's own ranks serve for the protocol's script.
    """

    def __init__(self, work, ranker: str):
        p = work.params
        self.work, self.name = work, ranker
        factors_of(ranker)
        self.ranker = open_for(p, ranker)
        self.rule = Protocol(protocol(p, self.ranker).count, False, p.seed)  # orders shared by all targets, whatever the run's mode
        self.edits = {variant: {unit(r): r for r in rows} for variant, rows in chosen_edits(work, ranker).items()}

    def factors(self, variant: str) -> dict[str, tuple[str, ...]]:
        """The ladder's factors for a variant's texts."""
        return factors_of(self.name, any(edit.get("trace") for edit in self.edits[variant].values()), self.rule.count)

    def expected(self) -> dict[Path, int]:
        """How many texts and clean lists each script's file will hold, at least."""
        counts: dict[Path, int] = {}
        for variant in self.edits:
            for *_, config in configurations(self.factors(variant), self.work.params.ladder_parts):
                file, jobs = self._file(config), {*map(_key, self._jobs(config.get("selection", "held out")))}
                counts[file] = max(counts.get(file, 0), len(jobs))
        return counts

    def table(self, variant: str, config: dict):
        """Per-target table of a variant under one configuration (a setting per factor)."""
        count = 1 if config.get("orders") == "one" else self.rule.count
        tried: dict[tuple, list[dict]] = {}
        for record in (r for r in self._records(config) if r["variant"] in ("clean", variant)):
            shown = {"orders": [list(o) for o in record["orders"]][:count], "ranks": record["ranks"][:count]}
            tried.setdefault(unit(record), []).append(record | shown)
        best = [min(rows, key=lambda r: np.median(r["ranks"])) for rows in tried.values()]  # the earliest on ties
        clean, edits = ([r for r in best if (r["target"] is None) == is_clean] for is_clean in (True, False))
        return per_target(clean, edits, self.name)

    def _records(self, config: dict) -> list[dict]:
        """The rank records of one script, clean lists and all variants' texts, made where they are not there yet."""
        script = self._script(config)
        ranker = scripted(self.ranker, script)
        shown = {"kind": "ladder", "ranker": ranker.identity(), "script": script, "ladder": prompt_sha("ladder"), "orders": self.rule.count,
                 "seed": self.rule.seed, "catalog": catalog.catalog_sha(self.work.selected)}  # fmt: skip
        with Records(self._file(config), shown, KEY) as records:
            jobs = {_key(job): job for job in self._jobs(config.get("selection", "held out"))}
            todo = [job for key, job in jobs.items() if key not in records.done]
            known = self._known(script) if todo else {}
            for job, ranked in self._ranked(ranker, todo, known):
                records.append(dict(zip(KEY, _key(job))) | {"orders": job.orders} | ranked)
            return [records.done[key] for key in jobs]

    def _script(self, config: dict) -> dict:
        return {name: config[name] for name in SCRIPT[parse_name(self.name)[1]]}

    def _file(self, config: dict) -> Path:
        return self.work.folder / "ladder" / folder_name(self.name) / ("-".join(self._script(config).values()) + ".jsonl")

    def _known(self, script: dict) -> dict[tuple, dict]:
        """The run's own ranks, which are those of the protocol's script."""
        if any(setting != FACTORS[name][-1] for name, setting in script.items()):
            return {}
        return known_ranks(self.work, self.name, self.ranker.identity(), ("clean", *self.edits))

    def _ranked(self, ranker, todo: list[Job], known: dict):
        """(job, what its record says of its ranks) in order; only those that are not known are ranked."""
        made = ranker.rank(job for job in todo if (*_key(job), job.orders) not in known)
        for job in todo:
            ranked = known.get((*_key(job), job.orders))
            if ranked is None:
                ranking = next(made)[1]
                ranks = ranking.ranks if job.target is None else [row[job.target - 1] for row in ranking.ranks]
                ranked = {"ranks": ranks} | {k: v for k in REPLIED if (v := getattr(ranking, k))}
            yield job, ranked

    def _jobs(self, selection: str):
        """List by list: the clean one first, then the first targets' texts of every variant."""
        for one in self.work.selected[: self.work.params.ladder_lists]:
            orders = self.rule.orders(one.list, None)
            yield Job(one.list, orders)
            for target in islice(one.targets, self.work.params.ladder_targets):
                for variant, edits in self.edits.items():
                    edit = edits.get((one.list.dataset, one.list.name, target))
                    for text in checkpoints(Task(one.list, target), edit, selection) if edit else ():
                        yield Job(one.list, orders, target, text, variant)


def _key(job: Job) -> tuple:
    return job.list.dataset, job.list.name, job.target, job.variant, sha(job.text) if job.text else None


def chosen_edits(work, ranker: str) -> dict[str, list[dict]]:
    """The edits of `ladder_variants`, for `generate` read-outs those that are in `generate_variants` too.

    Where the run has none of them, its first variant, with a warning.
    """
    edits, p = work.edits(), work.params
    generated = p.generate_variants if parse_name(ranker)[1] == "generate" else None
    asked = [names for names in (p.ladder_variants, generated) if names is not None]
    kept = {v: rows for v, rows in edits.items() if all(v in names for names in asked)}
    if not kept:
        first = next(iter(edits))
        warnings.warn(f"ladder_variants: none of {', '.join(asked[0])} is among the run's edits; taking {first}", stacklevel=2)
        kept = {first: edits[first]}
    return kept


def script_ladders(work):
    """The ladder of each ranker and variant, one under the other: `texts` (variant), `ranker`, then ladder.ladder's columns with
    `settings` in words. Rankers are `ladder_rankers`, else the main ranker alone."""
    import pandas as pd

    from geobench.ladder import ladder

    p, parts = work.params, []
    opened = [Scripts(work, name) for name in p.ladder_rankers or [p.main_ranker]]
    expect({file: count for scripts in opened for file, count in scripts.expected().items()})
    for scripts in opened:
        for variant in scripts.edits:
            factors = scripts.factors(variant)
            settings = {"resamples": p.resamples, "seed": p.seed, "inference": p.inference, "parts": p.ladder_parts}
            made = ladder(factors, lambda config, v=variant: scripts.table(v, config), **settings)
            made.insert(3, "settings", made[list(factors)].agg("; ".join, axis=1))
            parts.append(made.drop(columns=list(factors)).assign(texts=variant, ranker=scripts.name))
    table = pd.concat(parts, ignore_index=True)
    return table[["texts", "ranker", *table.columns.drop(["texts", "ranker"])]]
