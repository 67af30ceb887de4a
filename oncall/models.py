"""Clients of models, each built when first used."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.checks.groundedness import Entails
    from config.domain import Domain
    from config.models import ChatModel, Embedder
    from config.settings import Settings
    from index.ranking.rerank import Reranker


class Models:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def embedder(self) -> Embedder:
        from config.embeddings import build_embedder

        return build_embedder(self._settings)

    @cached_property
    def chat(self) -> ChatModel | None:
        from config.chat_model import build_chat_model

        return build_chat_model(self._settings)

    @property
    def chat_name(self) -> str:
        """Empty without one."""
        return self.chat.name if self.chat else ""

    @cached_property
    def enrichment(self) -> ChatModel | None:
        """Describes documents in the background."""
        from config.chat_model import build_enrichment_model

        return build_enrichment_model(self._settings)

    @cached_property
    def vision(self) -> ChatModel | None:
        """Describes pictures of documents in the background."""
        from config.chat_model import build_vision_model

        return build_vision_model(self._settings, someone_waits=False)

    @property
    def vision_name(self) -> str:
        """Empty without one."""
        return self.vision.name if self.vision else ""

    @cached_property
    def judge(self) -> ChatModel | None:
        """Judges answers to golden questions; defaults to the chat model."""
        from config.chat_model import build_judge_model

        return build_judge_model(self._settings)

    @cached_property
    def entails(self) -> Entails | None:
        """None: a model's answers are checked word by word only."""
        if not self._settings.entailment_model:
            return None
        from agents.checks.groundedness import EntailmentModel

        return EntailmentModel(self._settings.entailment_model)

    @cached_property
    def reranker(self) -> Reranker:
        """For `oncall retrieve` and `/api/retrieve`."""
        from index.ranking.rerank import build_reranker

        return build_reranker(self.reranker_without_model, self.chat)

    @property
    def reranker_without_model(self) -> Reranker | None:
        """The same where the chat model may not be asked."""
        return self._cross_encoder if self._settings.cross_encoder else None

    def reranker_of(self, domain: Domain, model: ChatModel | None) -> Reranker | None:
        """Returns the reranker of `retrieval.rerank`; None for the chat model without a `model`.

        Raises ConfigError for a cross-encoder that is missing from the settings."""
        from index.ranking.rerank import build_reranker

        choice = domain.retrieval.rerank
        if choice in ("cross_encoder", "both"):
            self._settings.require(
                cross_encoder=f"the cross-encoder that retrieval.rerank of {domain.domain} names"
            )
        first = self._cross_encoder if choice in ("cross_encoder", "both") else None
        second = model if choice in ("model", "both") else None
        return build_reranker(first, second) if first or second else None

    @cached_property
    def _cross_encoder(self) -> Reranker:
        """Shared by all domains; loads at first use."""
        from index.ranking.rerank import CrossEncoderReranker

        return CrossEncoderReranker(self._settings.cross_encoder or "")
