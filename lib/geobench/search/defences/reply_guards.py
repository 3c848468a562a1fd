"""Guard models that reply in words: Granite Guardian 3.3, Llama Guard 3 and NeMo's self-check of facts; formats and polarities.

Granite (harm criterion through the chat template, no thinking): `<score> yes </score>` means risk. Llama Guard: `safe`, or `unsafe`
with a line of category codes. NeMo's self-check asks whether the evidence supports an answer: yes means grounded, the opposite polarity.
A reply without the expected mark is unparsed here; each model's own leniency is the policy `keep`.
"""

import re

from geobench.engines.reply import without_thinking
from geobench.errors import GeoBenchError, came, nearest
from geobench.models import open_model
from geobench.prompts import load_prompt, prompt_sha, render
from geobench.search.defences.base import Decision
from geobench.search.defences.contexts import CHUNK_GUARDS

SCORE = re.compile(r"<score>\s*(yes|no)\s*</score>", re.IGNORECASE)
UNSAFE = re.compile(r"\s*unsafe\s*(?:\n\s*(S\d{1,2}(?:\s*,\s*S\d{1,2})*))?\s*$", re.IGNORECASE)
TOKENS = {"granite": 24, "llama_guard": 16, "nemo": 12}  # each documented reply fits
GRANITE_TEMPLATE = {"guardian_config": {"criteria_id": "harm"}, "think": False}


def parse_granite(reply: str) -> Decision:
    """Risk where the last score tag says yes; unparsed without a tag, or where tags contradict each other."""
    found = {m.lower() for m in SCORE.findall(without_thinking(reply))}
    risk = found == {"yes"} if len(found) == 1 else None
    return Decision(risk, "yes_is_risk", None, reply, "" if found else "no score tag")


def parse_llama_guard(reply: str) -> Decision:
    """Risk where the reply is `unsafe` with or without codes, none where it is `safe`; anything else is unparsed."""
    said = without_thinking(reply)
    if match := UNSAFE.match(said):
        return Decision(True, "unsafe_is_risk", None, reply, re.sub(r"\s", "", match[1] or "").upper())
    return Decision(False if said.lower() == "safe" else None, "unsafe_is_risk", None, reply, "")


def parse_nemo(reply: str) -> Decision:
    """Grounded (no risk) where one of the first two words is yes, risk where one is no; both or neither: unparsed."""
    words = {w.lower() for w in re.findall(r"[A-Za-z]+", " ".join(without_thinking(reply).split()[:2]))}
    yes, no = "yes" in words, "no" in words
    return Decision(no if yes != no else None, "yes_is_grounded", None, reply, "")


PARSERS = {"granite": parse_granite, "llama_guard": parse_llama_guard, "nemo": parse_nemo}


def chat_prompt(engine, kind: str, text: str) -> str:
    """The rendered prompt for one chunk; the chunk stands as the user's turn, the last role that both guards accept."""
    options = GRANITE_TEMPLATE if kind == "granite" else {}
    turn: list[dict] = [{"role": "user", "content": text}]
    if not engine.tokenizer.chat_template:
        return f"{text}\n"
    try:
        return engine.tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True, **options)
    except Exception as error:  # templates that want a list of typed parts
        turn = [{"role": "user", "content": [{"type": "text", "text": text}]}]
        try:
            return engine.tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True, **options)
        except Exception:
            raise GeoBenchError(f"{kind}: the chat template of `{engine.spec.name}` refuses a user turn ({came(error, 80)})") from error


class ReplyGuard:
    """Granite Guardian or Llama Guard on chunks, through any engine with `generate` (transformers, vLLM).

    `wiring` is True where another model stands in for the guard: its decisions show that the parts fit, nothing else.
    """

    def __init__(self, kind: str, engine, wiring: bool | None = None):
        if kind not in CHUNK_GUARDS:
            raise GeoBenchError(f"guard model: expected {' or '.join(CHUNK_GUARDS)}, got `{kind}`.{nearest(kind, PARSERS)}")
        self.name, self.engine = kind, engine
        self.wiring = engine.spec.name.split("-")[0] not in ("granite", "llama") if wiring is None else wiring

    def identity(self) -> dict:
        return {**self.engine.identity(), "defence": self.name, "tokens": TOKENS[self.name], "wiring": self.wiring}

    def decide(self, texts: list[str], documents: list[int] | None = None) -> list[Decision]:
        """One decision per chunk, in order."""
        from geobench.engines.decoding import Decoding

        names = [f"{self.name} chunk {n}" for n in range(1, len(texts) + 1)]
        asked, decoding = self._prompts(texts), Decoding(TOKENS[self.name])
        return [PARSERS[self.name](r.text) for r in self.engine.generate(asked["prompts"], decoding, names=names, **asked["options"])]

    def _prompts(self, texts: list[str]) -> dict:
        """Rendered here where the model is local; a server (vLLM) renders them itself and gets the template's options."""
        if hasattr(self.engine.tokenizer, "apply_chat_template"):
            texts = [self.engine.control.broken(t) for t in texts]  # a chunk must not end its own turn
            return {"prompts": [chat_prompt(self.engine, self.name, t) for t in texts], "options": {}}
        template = {"template": GRANITE_TEMPLATE} if self.name == "granite" else {}
        return {"prompts": [[{"role": "user", "content": t}] for t in texts], "options": template}


class SelfCheck:
    """The documented self-check of facts: the victim reads its own draft against the chunks; no evidence passes, as documented."""

    name = "nemo"

    def __init__(self, engine):
        self.engine = engine

    def identity(self) -> dict:
        return {**self.engine.identity(), "defence": "nemo", "tokens": TOKENS["nemo"], "prompt": prompt_sha("search_self_check")}

    def decide(self, drafts: list[str], evidence: list[str]) -> list[Decision]:
        """One decision per (draft, evidence); risk: refuse."""
        from geobench.engines.decoding import Decoding

        if len(drafts) != len(evidence):
            raise GeoBenchError(f"self-check: expected one evidence per draft, got {len(evidence)} for {len(drafts)}")
        prompt = load_prompt("search_self_check")
        asked = [n for n, e in enumerate(evidence) if e.strip()]
        chats = [
            [{"role": "system", "content": prompt["system"]},
             {"role": "user", "content": render(prompt["user"], evidence=evidence[n], draft=drafts[n])}] for n in asked
        ]  # fmt: skip
        replies = self.engine.generate(chats, Decoding(TOKENS["nemo"]), names=[f"draft {n + 1}" for n in asked]) if asked else []
        made = dict(zip(asked, (parse_nemo(r.text) for r in replies)))
        return [made.get(n, Decision(False, "yes_is_grounded", None, "", "no evidence")) for n in range(len(drafts))]


def open_guard(kind: str, model: str, batch_size: int = 8):
    """The guard of a kind over a registered model."""
    engine = open_model(model, batch_size=batch_size)
    if kind == "nemo_package":
        from geobench.search.defences.nemo_package import NemoPackage

        return NemoPackage(engine=engine)
    return SelfCheck(engine) if kind == "nemo" else ReplyGuard(kind, engine)
