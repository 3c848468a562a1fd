"""Sentence encoders and cross-encoders through sentence-transformers."""

import numpy as np

from geobench.engines.control_tokens import of_tokenizer
from geobench.errors import GeoBenchError, came
from geobench.models import ModelSpec
from geobench.weights import locate


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
                settings = {"activation_fn": torch.nn.Identity(), "max_length": 1024, "device": str(self.device)}
                self.model = CrossEncoder(where, revision=revision, **settings)
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
