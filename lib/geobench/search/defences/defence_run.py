"""Defences in a run's engine: candidates -> decisions -> defended contexts -> answers. Files lie in `<run>/search/`.

An answer is made anew only where a defence changed the context; equal contexts of several configurations share one answer. An empty context
is a refusal (no ASR, no accuracy), whichever victim: there is nothing to cite.
"""

from functools import cached_property

from geobench.models import open_model
from geobench.progress import expect
from geobench.records import Records, read_records
from geobench.sampling import draw
from geobench.search import verdicts, victims
from geobench.search.context import passages
from geobench.search.corpus import CONDITIONS, corpus_sha
from geobench.search.defences.base import Decision, unite
from geobench.search.defences.contexts import CHUNK_GUARDS, parse_configuration, survivors
from geobench.search.defences.disagreement import Disagreement
from geobench.search.defences.guard_run import GuardRun, scores_of
from geobench.search.defences.unions import union_taus
from geobench.search.pipeline import UNIT, SearchRun, rows_sha
from geobench.search.retrieval import SearchEngine

UNITED = ("guard", "tfidf")


class DefenceRun:
    """The defences of a run over its search side."""

    def __init__(self, work):
        self.search, self.guards, self.p = SearchRun(work), GuardRun(work), work.params
        self.folder = self.search.folder

    @cached_property
    def by_name(self) -> dict:
        return {i.name: i for i in self.search.instances}

    @cached_property
    def candidates(self) -> list[dict]:
        """Per query and condition all candidates in the reranker's order: rows of document, start, end, text, target."""
        self.search.contexts()  # refuses a run without notebook 12
        own = self.search.engine
        engine = SearchEngine(own.embeddings, own.reranker, self.p.model_copy(update={"search_top": self.p.search_candidates}))
        made = []
        for one in self.search.instances:
            for condition in CONDITIONS:
                hits = engine.search(one.query, one.documents(condition))
                made.append({"name": one.name, "condition": condition, "hits": hits, "target": one.target})
        return made

    @cached_property
    def detectors(self) -> dict:
        """Text detectors with their taus, and the disagreement defence."""
        found = dict(self.guards.open())
        encoder = open_model(self.p.search_encoder)
        found["disagreement"] = Disagreement(self.search.embeddings, self.p.search_disagreement_tau, encoder.identity())
        return found

    def union_taus(self) -> list[float]:
        """One tau per member of the union so that together they block the rate of held-out clean and IP chunks that one may block alone."""
        texts = [r.text for r in self.guards.parts(self.guards.halves[1], ("clean", "ip"))]
        return union_taus([scores_of(self.detectors[n], texts) for n in UNITED], self.p.search_guard_fpr)

    @property
    def chunk_guards(self) -> list[str]:
        """The guard models of `search_guard_models` that read chunks."""
        return [name for name in self.p.search_guard_models if name in CHUNK_GUARDS]

    @property
    def answer_guards(self) -> list[str]:
        """Those that read a drafted answer."""
        return [name for name in self.p.search_guard_models if name not in CHUNK_GUARDS]

    def wanted(self) -> list[dict]:
        """Candidates of the queries that guard models see."""
        chosen = set(draw(self.by_name, self.p.search_guard_instances, self.p.seed, "guards"))
        return [c for c in self.candidates if c["name"] in chosen]

    def decide(self, defence: str) -> dict[tuple, list[Decision]]:
        """Decisions of a chunk defence on every candidate (guard models: on the chunks that would be shown), by (name, condition)."""
        reply = defence in CHUNK_GUARDS
        judge = self._judge(defence)
        identity = {"corpus": corpus_sha(self.search.instances), "engine": self.search.engine.identity(), **judge.identity()}
        file = self.folder / "decisions" / f"{defence}.jsonl"
        rows = self.wanted() if reply else self.candidates
        with Records(file, identity, UNIT) as records:
            expect({file: len(rows)})
            for row in rows:
                if (row["name"], row["condition"]) not in records.done:
                    hits = row["hits"][: self.p.search_top] if reply else row["hits"]
                    made = judge.decide([h.chunk.text for h in hits], [h.chunk.document for h in hits])
                    records.append({"name": row["name"], "condition": row["condition"], "decisions": [d.record() for d in made]})
        self.search.embeddings.save()
        return {(r["name"], r["condition"]): [_decision(d) for d in r["decisions"]] for r in read_records(file)}

    def _judge(self, defence: str):
        if defence == "union":
            return _Union([self.detectors[n] for n in UNITED], self.union_taus())
        if defence in self.detectors:
            return self.detectors[defence]
        from geobench.search.defences.reply_guards import open_guard

        return open_guard(defence, self.p.search_guard_models[defence], self.p.batch_size)

    def defended(self, configuration: str) -> list[dict]:
        """Context rows (name, condition, passages, changed) under `DEFENCE:POLICY`; guard models: their sample of queries."""
        defence, policy = parse_configuration(configuration, (*self.detectors, "union", *CHUNK_GUARDS))
        decisions, rows = self.decide(defence), []
        for row in self.candidates:
            made = decisions.get((row["name"], row["condition"]))
            if made is None:
                continue
            blocked = [d.blocked(self.p.search_unparsed) for d in made]
            kept = survivors(blocked, self.p.search_top, policy, self.p.search_defence_place)
            shown = passages(self.by_name[row["name"]].documents(row["condition"]), [row["hits"][n] for n in kept])
            changed = kept != list(range(min(self.p.search_top, len(row["hits"]))))
            rows.append({"name": row["name"], "condition": row["condition"], "passages": [p.__dict__ for p in shown], "changed": changed})
        return rows

    def make_answers(self, victim: str, configurations: list[str]) -> list[dict]:
        """Answers under each configuration with verdicts; `defence` names the configuration, `changed` whether the context is another."""
        plain = {(r["name"], r["condition"]): r for r in self.search.answers(victim)}
        contexts = {c: self.defended(c) for c in configurations}
        identity = {"corpus": corpus_sha(self.search.instances), "victim": victims.identity(victim, self.p.search_answer_tokens)}
        with Records(self.folder / "defended" / f"{victim.replace(':', '__')}.jsonl", identity, (*UNIT, "context")) as records:
            todo = {}
            for row in (r for rows in contexts.values() for r in rows if r["changed"] and r["passages"]):
                key = (row["name"], row["condition"], rows_sha(row["passages"]))
                if key not in records.done:
                    todo.setdefault(key, row)
            expect({records.path: len(records.done) + len(todo)})
            if todo:
                for key, answer in zip(todo, self.search.answer_contexts(victim, list(todo.values()), self.by_name)):
                    records.append(answer | {"context": key[2]})
            made = dict(records.done)
        return self.search.judged([self._answer(victim, c, r, plain, made) for c, rows in contexts.items() for r in rows])

    def _answer(self, victim, configuration, row, plain, made) -> dict:
        key = (row["name"], row["condition"])
        if not row["changed"]:
            answer = plain[key]
        elif not row["passages"]:
            answer = {"answer": "", "stance": "refused"}
        else:
            answer = made[(*key, rows_sha(row["passages"]))]
        facts = {"name": key[0], "condition": key[1], "victim": victim, "defence": configuration, "changed": row["changed"]}
        return facts | {"answer": answer["answer"], "empty": not row["passages"], "stance": answer.get("stance")}

    def self_check(self, victim: str, kind: str = "nemo") -> list[dict]:
        """Self-check of the victim's written drafts (a sample of queries), ours or `nemo_package`'s; a refusal is ASR 0 and accuracy 0."""
        from geobench.search.defences.reply_guards import open_guard

        chosen = {c["name"] for c in self.wanted()}
        contexts = {(c["name"], c["condition"]): c["passages"] for c in self.search.contexts() if c["name"] in chosen}
        drafts = [r for r in self.search.answers(victim) if r["name"] in chosen]
        judge = open_guard(kind, self.p.search_guard_models[kind], self.p.batch_size)
        evidence = ["\n\n".join(p["text"] for p in contexts[(r["name"], r["condition"])]) for r in drafts]
        rows = []
        for draft, made in zip(drafts, judge.decide([r["answer"] for r in drafts], evidence)):
            stance = "refused" if made.blocked(self.p.search_unparsed) else draft["stance"]
            facts = {"name": draft["name"], "condition": draft["condition"], "victim": victim, "defence": f"{kind}:refuse"}
            rows.append(facts | made.record() | {"stance": stance} | verdicts.scores(stance))
        return rows


class _Union:
    """Several detectors at taus that share one budget."""

    def __init__(self, members: list, taus: list[float]):
        self.members, self.taus = members, taus

    def identity(self) -> dict:
        return {"defence": "union", "taus": self.taus, "members": [m.identity() for m in self.members]}

    def decide(self, texts: list[str], documents: list[int] | None = None) -> list[Decision]:
        return unite([m.decide(texts, documents) for m in self.members], self.taus)


def _decision(row: dict) -> Decision:
    return Decision(**{k: v for k, v in row.items() if k != "parsed"})
