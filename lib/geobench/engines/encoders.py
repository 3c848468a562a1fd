"""Sentence encoders and cross-encoders through sentence-transformers. They read the first `limit` tokens of a text and no more."""

import numpy as np

from geobench.engines.control_tokens import of_tokenizer
from geobench.errors import GeoBenchError, came
from geobench.models import ModelSpec
from geobench.weights import locate

LONGEST = 1024  # tokens of a query and a passage that a cross-encoder reads, where it can


class Encoder:
    """A bi-encoder (`embed`) or a cross-encoder; `relevance` scores passages against one query with either."""

    batch_size = 8

    def __init__(self, spec: ModelSpec):
        import torch
        from sentence_transformers import CrossEncoder, SentenceTransformer

        where, revision = locate(spec)
        self.spec = spec
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            if spec.kind == "cross_encoder":
                settings = {"activation_fn": torch.nn.Identity(), "max_length": LONGEST, "device": str(self.device)}
                self.model = CrossEncoder(where, revision=revision, **settings)
                self.model.max_seq_length = min(LONGEST, _positions(self.model))
            else:
                self.model = SentenceTransformer(where, revision=revision, device=str(self.device))
        except OSError as error:
            raise GeoBenchError(
                f"model `{spec.name}`: no weights at {where} ({came(error, 120)}); fetch them with `hf download {where}` when online, "
                "or point params/models.yaml to a folder with `path:`"
            ) from error
        self.control = of_tokenizer(self.model.tokenizer)

    def identity(self) -> dict:
        return self.spec.identity()

    @property
    def limit(self) -> int:
        """How many tokens are read: of a text, or of a query and a passage together."""
        return int(self.model.max_seq_length or _positions(self.model[0].auto_model))

    def tokens(self, query: str, passage: str) -> int:
        """Tokens of what `relevance` reads for one passage, special tokens included."""
        pair = (query, passage) if self.spec.kind == "cross_encoder" else (passage,)
        return len(self.model.tokenizer(*map(self.control.broken, pair), verbose=False)["input_ids"])

    def embed(self, texts: list[str]) -> np.ndarray:
        """[texts, D] unit vectors; one text at a time on a CPU, so that rows do not depend on their neighbours."""
        size = self.batch_size if self.device.type == "cuda" else 1
        texts = [self.control.broken(text) for text in texts]
        return self.model.encode(texts, batch_size=size, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)

    def relevance(self, query: str, passages: list[str]) -> list[float]:
        """Cosine similarities, or the cross-encoder's logits."""
        if self.spec.kind == "cross_encoder":
            size = self.batch_size if self.device.type == "cuda" else 1
            pairs = [(self.control.broken(query), self.control.broken(p)) for p in passages]
            return [float(s) for s in self.model.predict(pairs, batch_size=size, show_progress_bar=False)]
        vectors = self.embed([query, *passages])
        return [float(s) for s in vectors[1:] @ vectors[0]]


def _positions(model) -> int:
    """Tokens that a model has positions for (those of RoBERTa begin after the padding token's); unbounded where it does not say."""
    config = model.config
    first = (config.pad_token_id or 0) + 1 if "roberta" in config.model_type else 0
    return getattr(config, "max_position_embeddings", 10**9) - first
