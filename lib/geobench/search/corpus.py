"""The search track's corpus: evaluation instances and training triples, their schema, and reading them from JSON lines.

An **instance** is a query with five web-like sources, one of them the target. Under `clean` the target is as it is; under `ip`
(information-preserving) it is rewritten for visibility with every fact kept; under `id` (information-distorting) it is rewritten
as well and also asserts the false claim in several places. The other four sources never change. A **triple** is a single
document in the same three states plus `control`: the ID text with the true statement in the place of the false claim.
"""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from geobench import paths
from geobench.errors import GeoBenchError, came
from geobench.json_values import json_lines
from geobench.lists import refuse_control
from geobench.run import sha

FOLDER = paths.ROOT / "data" / "embedded" / "search"
CONDITIONS = ("clean", "ip", "id")
SOURCES = 5

Category = Literal[
    "invented_authority",  # a made-up institute, board or expert vouches for the claim
    "false_citation",  # a made-up study, standard, handbook or article is cited
    "fabricated_statistics",  # invented figures or trial results
    "false_consensus",  # "all growers now agree"
    "time_frame",  # the claim is presented as the newest state of things
    "structured_format",  # the claim sits in a table, a question-and-answer block or a summary box
    "false_correction",  # the truth is presented as an old error
    "testimonial",  # invented users report the claim
]


class Printable(BaseModel):
    """A row whose texts hold no control characters."""

    @field_validator("*")
    @classmethod
    def _no_control(cls, value):
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                refuse_control(text, "the text")
        return value


class _Strict(Printable):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Source(_Strict):
    """One web page: address, title, text."""

    url: str = Field(pattern=r"^https?://\S+$")
    title: str = Field(min_length=1)
    text: str = Field(min_length=1)


class Key(_Strict):
    """Alternatives that express the false claim and the true statement (`search.keys`)."""

    false: list[str] = Field(min_length=1)
    true: list[str] = Field(min_length=1)


class Claims(_Strict):
    """A false claim and the truth, what counts as success, and how the ID text attacks."""

    name: str = Field(pattern=r"^[a-z0-9_]+$")
    topic: str = Field(min_length=1)
    false_claim: str = Field(min_length=1)
    true_statement: str = Field(min_length=1)
    categories: list[Category]  # empty: the rewriting template asks for none
    key: Key | None = None  # None: no hand-written key (public queries), so that only an LLM judge gives verdicts


class Instance(Claims):
    """One evaluation query. `target` is 1-based; `id_url` is the target's address under `id` (authority addresses are replaced);
    `facts` are phrases of the clean target that both rewrites must keep; `contested`: another source states the truth (None: unknown)."""

    query: str = Field(min_length=1)
    sources: list[Source] = Field(min_length=SOURCES, max_length=SOURCES)
    target: int = Field(ge=1, le=SOURCES)
    ip_text: str = Field(min_length=1)
    id_text: str = Field(min_length=1)
    id_url: str = Field(pattern=r"^https?://\S+$")
    false_paraphrases: list[str] = Field(min_length=2, max_length=2)
    true_paraphrases: list[str] = Field(min_length=2, max_length=2)
    criterion: str = Field(min_length=1)
    facts: list[str] = []
    contested: bool | None

    @model_validator(mode="after")
    def _different_sources(self):
        for what in ("url", "text"):
            values = [" ".join(getattr(s, what).split()) for s in self.sources]
            if len(set(values)) < len(values):
                raise ValueError(f"two sources have the same {what}")
        return self

    @property
    def clean_text(self) -> str:
        return self.sources[self.target - 1].text

    def text(self, condition: str) -> str:
        """The target's text under a condition."""
        return {"clean": self.clean_text, "ip": self.ip_text, "id": self.id_text}[condition]

    def documents(self, condition: str) -> list[Source]:
        """The five sources as the search engine finds them under a condition."""
        old = self.sources[self.target - 1]
        new = Source(url=self.id_url if condition == "id" else old.url, title=old.title, text=self.text(condition))
        return [new if n == self.target else s for n, s in enumerate(self.sources, 1)]


class Triple(Claims):
    """One training document in four states (made ones have no control); `attribution` names the body that the IP text credits, if any."""

    clean: str = Field(min_length=1)
    ip: str = Field(min_length=1)
    id: str = Field(min_length=1)
    control: str | None = Field(None, min_length=1)
    attribution: str | None = None


def _read(path: Path, schema):
    """Validated rows of a JSON-lines file; the error names file, line and row, what was wrong and what came instead."""
    if not Path(path).exists():
        raise GeoBenchError(f"no corpus file at {path}")
    rows, seen = [], set()
    for number, row in json_lines(path):
        rows.append(parse(row, schema, f"{Path(path).name}:{number}"))
        if rows[-1].name in seen:
            raise GeoBenchError(f"{Path(path).name}:{number}: `{rows[-1].name}` comes twice")
        seen.add(rows[-1].name)
    if not rows:
        raise GeoBenchError(f"{path}: the file is empty")
    return rows


def parse(row: object, schema, where: str):
    """One row under a schema, or a GeoBenchError that names it."""
    if not isinstance(row, dict):
        raise GeoBenchError(f"{where}: expected a JSON object, got {came(row)}")
    try:
        return schema(**row)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "row"
        raise GeoBenchError(f"{where} `{row.get('name', '?')}`: {field}: {first['msg']}, got {came(first['input'], 80)}") from error


def load_instances(path: Path | None = None) -> list[Instance]:
    """Evaluation instances in file order."""
    return _read(path or FOLDER / "instances.jsonl", Instance)


def load_triples(path: Path | None = None) -> list[Triple]:
    """Training triples in file order."""
    return _read(path or FOLDER / "training.jsonl", Triple)


def corpus_sha(instances: list[Instance]) -> str:
    """First 16 hex digits of the sha256 of the instances' content, whatever their order."""
    rows = sorted(i.model_dump_json() for i in instances)
    return sha("\n".join(rows))
