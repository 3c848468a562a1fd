"""The search track's files in a run's folder, each made from the one before: instances -> gate -> contexts -> answers -> verdicts.

All lie in `<run>/search/`. Units are (name, condition); a finished unit is never made again.
"""

import json
from functools import cached_property
from pathlib import Path

from geobench.errors import GeoBenchError
from geobench.json_values import json_lines
from geobench.models import open_model
from geobench.progress import expect
from geobench.records import Records, read_records
from geobench.run import sha
from geobench.sampling import draw
from geobench.search import grading, verdicts, victims
from geobench.search.context import Passage, passages
from geobench.search.corpus import CONDITIONS, Instance, corpus_sha, load_instances, parse
from geobench.search.retrieval import Embeddings, SearchEngine

UNIT = ("name", "condition")


def load_own(p) -> list[Instance]:
    """The embedded instances, or those of the folder `search_corpus`."""
    return load_instances(None if p.search_corpus == "embedded" else Path(p.search_corpus) / "instances.jsonl")


def checked(p, known: list[Instance]) -> list[Instance]:
    """The instances that the parameters draw; GeoBenchError that counts their faults and names the first."""
    from geobench.search.corpus_check import check_instance, check_usable

    by_name = {i.name: i for i in known}
    chosen = [by_name[n] for n in draw(by_name, p.search_instances, p.seed, "search")]
    check = check_instance if p.search_corpus == "embedded" else check_usable
    if faults := [f for one in chosen for f in check(one)]:
        raise GeoBenchError(f"search corpus: {len(faults)} faults, first: {faults[0]}")
    return chosen


class SearchRun:
    """The search side of a run: `folder` is `<run>/search`."""

    def __init__(self, work):
        self.work, self.p, self.folder = work, work.params, Path(work.folder) / "search"

    def choose(self) -> list[Instance]:
        """Draw the run's instances, check them, and write `instances.jsonl`."""
        chosen = checked(self.p, self._known())
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "instances.jsonl").write_text("".join(i.model_dump_json() + "\n" for i in chosen), "utf-8")
        self.__dict__.pop("instances", None)
        return chosen

    def _known(self) -> list[Instance]:
        if self.p.search_corpus == "geo_bench":
            from geobench.search import public

            return public.build(self)
        return load_own(self.p)

    @cached_property
    def instances(self) -> list[Instance]:
        """The instances chosen by notebook 11."""
        file = self.folder / "instances.jsonl"
        if not file.exists():
            raise GeoBenchError(
                f"no search instances in {self.folder}: run notebook 11_search_data first (./run_all.sh --only 11_search_data)"
            )
        return [parse(row, Instance, f"instances.jsonl:{n}") for n, row in json_lines(file)]

    @cached_property
    def embeddings(self) -> Embeddings:
        return Embeddings(open_model(self.p.search_encoder), self.folder / "embeddings.npz")

    @cached_property
    def engine(self) -> SearchEngine:
        return SearchEngine(self.embeddings, open_model(self.p.search_reranker), self.p)

    def _identity(self) -> dict:
        return {"corpus": corpus_sha(self.instances)}

    def make_contexts(self) -> list[dict]:
        """Search for every query under every condition; the four other sources are embedded once."""
        identity = self._identity() | {"engine": self.engine.identity()}
        with Records(self.folder / "contexts.jsonl", identity, UNIT) as records:
            expect({records.path: len(self.instances) * len(CONDITIONS)})
            for one in self.instances:
                for condition in CONDITIONS:
                    if (one.name, condition) not in records.done:
                        records.append(self._context(one, condition))
        self.embeddings.save()
        return self.contexts()

    def _context(self, one: Instance, condition: str) -> dict:
        sources = one.documents(condition)
        hits = self.engine.search(one.query, sources)
        shown = passages(sources, hits)
        rows = [{"document": h.chunk.document, "chunk": h.chunk.number, "start": h.chunk.start, "end": h.chunk.end,
                 "tokens": h.chunk.tokens,
                 "mixed": round(h.mixed, 6), "rerank": round(h.rerank, 6)} for h in hits]  # fmt: skip
        return {"name": one.name, "condition": condition, "target": one.target, "hits": rows, "passages": [p.__dict__ for p in shown]}

    def contexts(self) -> list[dict]:
        place = {i.name: n for n, i in enumerate(self.instances)}
        file = self.folder / "contexts.jsonl"
        if not file.exists():
            raise GeoBenchError(
                f"no contexts in {self.folder}: run notebook 12_search_answers first (./run_all.sh --only 12_search_answers)"
            )
        rows = [r for r in read_records(file) if r["name"] in place]
        return sorted(rows, key=lambda r: (place[r["name"]], CONDITIONS.index(r["condition"])))

    def make_answers(self, victim: str) -> list[dict]:
        """A victim's answers with the key judge's verdicts, for every instance and condition."""
        contexts = self.contexts()
        expect({self.answers_file(v): len(contexts) for v in (victim, *self.p.search_victims)})
        identity = self._identity() | {"contexts": rows_sha(contexts), "victim": victims.identity(victim, self.p.search_answer_tokens)}
        with Records(self.answers_file(victim), identity, UNIT) as records:
            todo = [c for c in contexts if (c["name"], c["condition"]) not in records.done]
            by_name = {i.name: i for i in self.instances}
            for row in self.answer_contexts(victim, todo, by_name) if todo else ():
                records.append(row)
        return self.answers(victim)

    def answer_contexts(self, victim: str, contexts: list[dict], by_name: dict):
        """Answers of a victim to context rows (name, condition, passages), one by one as they are made."""
        engine, read_out = victims.open_victim(victim, self.p.batch_size)
        tasks = [(by_name[c["name"]], [Passage(**p) for p in c["passages"]], f"{c['name']} {c['condition']}") for c in contexts]
        size = 3 * self.p.batch_size if read_out == "generate" else 1
        kept = self.answers_file(victim)
        prior = {r["name"]: r["prior"] for r in read_records(kept) if "prior" in r} if kept.exists() else {}  # no source: no defence
        for start in range(0, len(tasks), size):
            group = tasks[start : start + size]
            if read_out == "generate":
                made = victims.generate(
                    engine, [(i.query, shown) for i, shown, _ in group], self.p.search_answer_tokens, [n for *_, n in group]
                )
            elif read_out == "extractive":
                made = [victims.extract(one.query, shown, self.embeddings) for one, shown, _ in group]
            else:
                one, shown, what = group[0]
                made = [victims.prefer(engine, one, shown, prior.get(one.name), what)]
                prior[one.name] = made[0]["prior"]
            for context, answer in zip(contexts[start : start + size], made):
                yield {"name": context["name"], "condition": context["condition"]} | answer

    def answers_file(self, victim: str) -> Path:
        return self.folder / "answers" / f"{victim.replace(':', '__')}.jsonl"

    def answers(self, victim: str) -> list[dict]:
        """Answers with `stance`, `asr` and `accuracy`; they are judged here, so that a mended key needs no new answers."""
        if not self.answers_file(victim).exists():
            raise GeoBenchError(
                f"no answers of `{victim}` in {self.folder}: run notebook 12_search_answers first (./run_all.sh --only 12_search_answers)"
            )
        names = {i.name for i in self.instances}
        return self.judged([r | {"victim": victim} for r in read_records(self.answers_file(victim)) if r["name"] in names])

    def judged(self, rows: list[dict]) -> list[dict]:
        """Answer rows with `stance`, `asr` and `accuracy`: by the query's key, or by the LLM judge where it has none."""
        by_name = {i.name: i for i in self.instances}
        graded = grading.stances(self, [r for r in rows if not r.get("stance") and by_name[r["name"]].key is None])
        made = []
        for row in rows:
            stance = row.get("stance") or graded.get(grading.key_of(row)) or verdicts.key_stance(row["answer"], by_name[row["name"]].key)
            made.append(row | {"stance": stance} | verdicts.scores(stance))
        return made


def rows_sha(rows: list[dict]) -> str:
    """First 16 hex digits of the sha256 of rows, such as contexts or the passages that a victim reads."""
    return sha(json.dumps(rows, sort_keys=True))
