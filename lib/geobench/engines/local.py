"""The local engine: any Hugging Face causal LM on CPU or CUDA.

Generation is batched. Texts are scored one at a time on a CPU (padding saves nothing there and lone rows are exact) and in padded batches
on CUDA; next tokens are scored one prompt at a time on both, after what the prompts share. Every prompt carries exactly one BOS where the
model has one, and none is longer than the context.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from geobench.engines.batching import halving, sorted_back
from geobench.engines.beginnings import BYTES, Beginnings
from geobench.engines.chat_prompt import ChatPrompts
from geobench.engines.control_tokens import of_tokenizer
from geobench.engines.decoding import Decoding
from geobench.engines.generation import Chooser, grouped, transformers_generate
from geobench.engines.reply import Messages, Reply
from geobench.errors import GeoBenchError, came
from geobench.kernels import decoder
from geobench.models import ModelSpec
from geobench.weights import locate


def device_and_dtype(spec: ModelSpec) -> tuple[torch.device, torch.dtype]:
    """CUDA when there is one; the registry's dtype there, float32 on a CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu"), torch.float32
    return torch.device("cuda"), torch.bfloat16 if spec.dtype == "auto" else getattr(torch, spec.dtype)


class LocalModel(ChatPrompts):
    """A causal LM with its tokenizer; `batch_size` bounds how many prompts decode together."""

    batch_size = 8

    def __init__(self, spec: ModelSpec):
        where, revision = locate(spec)
        self.spec = spec
        self.device, self.dtype = device_and_dtype(spec)
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(where, revision=revision)
            self.model = AutoModelForCausalLM.from_pretrained(where, revision=revision, dtype=self.dtype, use_safetensors=True)
        except OSError as error:
            raise GeoBenchError(
                f"model `{spec.name}`: no weights at {where} ({came(error, 120)}); fetch them with `hf download {where}` when online, "
                "or point params/models.yaml to a folder with `path:`"
            ) from error
        self.model = self.model.to(self.device).eval().requires_grad_(False)
        self.tokenizer.padding_side = "left"
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.control = of_tokenizer(self.tokenizer)
        self._prefixes: dict[tuple, decoder.Prefix] = {}
        cuda = self.device.type == "cuda"
        self.beginnings = Beginnings(torch.cuda.get_device_properties(self.device).total_memory // 10 if cuda else BYTES)

    def identity(self) -> dict:
        return self.spec.identity()

    @property
    def context(self) -> int:  # type: ignore[override]
        """Longest sequence in tokens."""
        return int(getattr(self.model.config, "max_position_embeddings", 2048))

    # --- generation ---------------------------------------------------------------------------------------------------------

    def generate(
        self, prompts: list[Messages | str], decoding: Decoding, seeds: list[int] | None = None, names: list[str] | None = None,
        alike: list | None = None,
    ) -> list[Reply]:
        """One reply per prompt, in order; prompts of like length decode together.

        alike: a key per prompt; those of one key are expected to begin alike, and what they share with the first is computed once.
        """
        names = names or [f"prompt {i + 1}" for i in range(len(prompts))]
        render: dict[type, Callable] = {str: self.encode, list: self.encode_chat}  # a text is a prompt that was rendered already
        coded = [render[type(p)](p, n, room=decoding.max_new_tokens) for p, n in zip(prompts, names)]
        seeds = seeds or [0] * len(coded)
        replies: list[Reply | None] = [None] * len(coded)
        first: dict = {}
        for i, key in enumerate(alike or ()):
            first.setdefault(key, i)
        place = [first[alike[i]] if alike else i for i in range(len(coded))]
        order = sorted(range(len(coded)), key=lambda i: (len(coded[place[i]]), place[i], i))
        for group in halving(order, self.batch_size, lambda g: self._generate(coded, g, decoding, seeds, alike)):
            for i, reply in group:
                replies[i] = reply
        return replies

    def _generate(self, coded, group, decoding, seeds, alike=None) -> list[tuple[int, Reply]]:
        rows = [coded[i] for i in group]
        chooser = Chooser(self, rows, decoding, [seeds[i] for i in group], [alike[i] for i in group] if alike else None)
        decode = grouped if decoder.supports(self.model) else transformers_generate
        decode(self, rows, chooser)
        return [(i, self._reply(rows[n], chooser.written[n], chooser.finish[n])) for n, i in enumerate(group)]

    def _reply(self, prompt, tokens, finish) -> Reply:
        text = self.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return Reply(text.strip(), finish, len(prompt), len(tokens))

    @torch.inference_mode()
    def last_logits(self, ids: list[int]) -> torch.Tensor:
        """[V] float32 next-token logits after a lone, unpadded sequence: the reference that near ties are settled by."""
        return self.model(torch.tensor([ids], device=self.device), logits_to_keep=1).logits[0, -1].float()

    # --- scoring ------------------------------------------------------------------------------------------------------------

    def sequence_logprobs(self, texts: list[str], limit: int | None = None) -> Iterator[tuple[np.ndarray, bool]]:
        """Per text: log-probability of every token after the first, and whether the text was cut at `limit` tokens."""
        limit = min(limit or self.context, self.context)
        coded = [self._with_bos(text) for text in texts]
        rows = [ids[:limit] for ids in coded]
        for n, logit in self._logits(rows):
            target = torch.tensor(rows[n][1:], device=self.device)
            logprob = logit[: len(target)].log_softmax(-1).gather(1, target[:, None])[:, 0]
            yield logprob.cpu().numpy(), len(coded[n]) > limit

    def next_token_logprobs(
        self, prompts: list[Messages], tokens: list[int], shared: int = 0, names: list[str] | None = None
    ) -> Iterator[np.ndarray]:
        """Per prompt: float32 log-probabilities of `tokens` as the next token; the first `shared` tokens are computed once."""
        names = names or [f"prompt {i + 1}" for i in range(len(prompts))]
        rows = [self.encode_chat(p, n) for p, n in zip(prompts, names)]
        for row in rows:
            logit = self._after_prefix(row, shared) if decoder.supports(self.model) and shared else self.last_logits(row)
            yield logit.log_softmax(-1)[tokens].cpu().numpy()

    @torch.inference_mode()
    def _after_prefix(self, row: list[int], shared: int) -> torch.Tensor:
        shared = min(shared, len(row) - 1)
        head = tuple(row[:shared])
        if head not in self._prefixes:
            self._prefixes = {head: decoder.forward(self.model, torch.tensor([head], device=self.device), keep=True, last=1).own}
        rest = torch.tensor([row[shared:]], device=self.device)
        return decoder.logits(self.model, decoder.forward(self.model, rest, self._prefixes[head], last=1).hidden[0, -1])

    def _with_bos(self, text: str) -> list[int]:
        ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        first = self.tokenizer.bos_token_id
        return [first if first is not None else self.tokenizer.eos_token_id, *ids]

    def _logits(self, rows: list[list[int]]) -> Iterator[tuple[int, torch.Tensor]]:
        """(row, [tokens, V] float32 logits): alone on a CPU, right-padded batches of like length on CUDA."""
        order = sorted(range(len(rows)), key=lambda i: (-len(rows[i]), i)) if self.device.type == "cuda" else range(len(rows))
        yield from sorted_back(halving(list(order), self.batch_size if self.device.type == "cuda" else 1, lambda g: self._padded(rows, g)))

    @torch.inference_mode()
    def _padded(self, rows, group) -> list[tuple[int, torch.Tensor]]:
        width, pad = max(len(rows[i]) for i in group), self.tokenizer.pad_token_id
        ids = torch.tensor([rows[i] + [pad] * (width - len(rows[i])) for i in group], device=self.device)
        mask = torch.tensor([[1] * len(rows[i]) + [0] * (width - len(rows[i])) for i in group], device=self.device)
        out = self.model(ids, attention_mask=mask).logits.float()
        return [(i, out[n, : len(rows[i])]) for n, i in enumerate(group)]
