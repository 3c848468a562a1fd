"""Parameters of the search track, mixed into `geobench.params.Params`; params/base.yaml says what each means."""

from typing import Literal

from pydantic import BaseModel, Field

from geobench.errors import GeoBenchError, nearest
from geobench.search.defences.contexts import CHUNK_DEFENCES, CHUNK_GUARDS, parse_configuration

REPLY_GUARDS = (*CHUNK_GUARDS, "nemo")
KNOWN_GUARDS = (*REPLY_GUARDS, "nemo_package")


class SearchParams(BaseModel):
    """Fields `search_*`; the reference model, seed and batch size are the ranking track's."""

    search_corpus: str = Field("embedded", min_length=1)
    search_instances: int | None = Field(None, ge=1)
    search_folder: str | None = None
    search_rewriter: str = "smollm2-135m"
    search_rewrite_queries: int | None = Field(0, ge=0)
    search_rewrite_tokens: int = Field(800, ge=16)
    search_rewrite_retries: int = Field(2, ge=0)
    search_rewrite_template: Literal["main", "independent"] = "main"
    search_gate_rounds: int = Field(0, ge=0)
    search_gate_threshold: float = Field(0.65, ge=0, le=1)
    search_gate_levels: list[float] = Field([0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8], min_length=1)
    search_encoder: str = "minilm"
    search_reranker: str = "minilm"
    search_chunk_tokens: int = Field(512, ge=8)
    search_chunk_overlap: int = Field(128, ge=0)
    search_sparse_weight: float = Field(0.3, ge=0, le=1)
    search_candidates: int = Field(50, ge=1)
    search_top: int = Field(12, ge=1)
    search_victims: list[str] = Field(["smollm2-135m:generate", "smollm2-135m:likelihood", "minilm:extractive"], min_length=1)
    search_answer_tokens: int = Field(256, ge=8)
    search_judge: str | None = None
    search_judge_answers: int | None = Field(None, ge=1)
    search_resamples: int = Field(10_000, ge=2)
    search_guard_folder: str | None = None
    search_guard_encoder: str = "minilm"
    search_guard_loss: Literal["explicit", "in_batch"] = "explicit"
    search_guard_epochs: int = Field(3, ge=1)
    search_guard_batch: int = Field(16, ge=2)
    search_guard_rate: float = Field(5e-5, gt=0)
    search_guard_scale: float = Field(20.0, gt=0)
    search_guard_holdout: float = Field(0.2, gt=0, lt=1)
    search_guard_fpr: float = Field(0.05, ge=0, le=1)
    search_guard_tau: float | None = None
    search_guard_folds: int = Field(5, ge=2)
    search_guard_fold_training: bool = False
    search_defences: list[str] = Field(["guard:drop", "guard:refill", "tfidf:drop", "disagreement:drop", "union:drop"], min_length=1)
    search_defence_victims: list[str] | None = None
    search_defence_place: Literal["after_rerank", "before_rerank"] = "after_rerank"
    search_disagreement_tau: float = Field(0.3, ge=-2, le=2)
    search_unparsed: Literal["keep", "block"] = "keep"
    search_guard_models: dict[str, str] = Field(default_factory=lambda: dict.fromkeys(REPLY_GUARDS, "smollm2-135m"))
    search_guard_instances: int | None = Field(None, ge=1)

    def require_search(self) -> None:
        """Refuse unknown models, victims and an overlap that is not smaller than the chunk."""
        from geobench.search.victims import parse_victim

        for victim in self.search_victims:
            parse_victim(victim)
        for victim in self.search_defence_victims or ():
            if victim not in self.search_victims:
                raise GeoBenchError(
                    f"search_defence_victims: `{victim}` is not among search_victims.{nearest(victim, self.search_victims)}"
                )
        for configuration in self.search_defences:
            defence, _ = parse_configuration(configuration, CHUNK_DEFENCES)
            if defence in CHUNK_GUARDS and defence not in self.search_guard_models:
                raise GeoBenchError(f"search_defences: `{configuration}` has no model in search_guard_models")
        for guard in self.search_guard_models:
            if guard not in KNOWN_GUARDS:
                raise GeoBenchError(f"search_guard_models: unknown guard `{guard}`.{nearest(guard, KNOWN_GUARDS)}")
        self._require_kinds()
        if self.search_chunk_overlap >= self.search_chunk_tokens:
            raise GeoBenchError(
                f"search_chunk_overlap: expected less than search_chunk_tokens, {self.search_chunk_tokens}, got {self.search_chunk_overlap}"
            )

    def _require_kinds(self) -> None:
        """GeoBenchError for a model that cannot play its role in the search track."""
        from geobench.models import require_kind

        for role in ("search_rewriter", "search_judge"):
            if (model := getattr(self, role)) is not None:
                require_kind(role, model, "causal_lm")
        for guard, model in self.search_guard_models.items():
            require_kind(f"search_guard_models: {guard}", model, "causal_lm")
        for role in ("search_encoder", "search_guard_encoder"):
            require_kind(role, getattr(self, role), "bi_encoder")
        require_kind("search_reranker", self.search_reranker, "bi_encoder", "cross_encoder")
