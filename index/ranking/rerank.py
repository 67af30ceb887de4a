"""Reranks the best hits by a cross-encoder, by the language model, or by both in turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from config.errors import InvalidModelOutput, ModelError, ModelUnavailable
from config.models import ChatModel, Prompt, Usage, lose
from config.prompts import Foreign
from index.prompts import render
from index.search import Hit

PASSAGES = 15
FINAL_PASSAGES = 8
PASSAGE_CHARACTERS = 1_500
SCALE = 10

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Reranked:
    """Hits in their new order."""

    hits: tuple[Hit, ...]
    scores: tuple[float, ...] = ()
    """Scores of the leading hits that were judged, 0–1."""
    by: tuple[str, ...] = ()
    """Names of the rerankers that judged; empty when the order is unchanged."""
    usage: Usage = Usage()
    failed: str = ""
    """Kind of failure of a reranker that could not judge, see `config.errors.ModelFailure`."""


Reranker = Callable[[str, Sequence[Hit]], Reranked]
"""(question, hits best first) → Reranked. Raises nothing: a failure leaves the order."""


def build_reranker(cross_encoder: Reranker | None, model: ChatModel | None) -> Reranker:
    """What there is of both: the cross-encoder, then the model on its best."""
    stages = [cross_encoder] if cross_encoder else []
    if model is not None:
        stages.append(ModelReranker(model, FINAL_PASSAGES if stages else PASSAGES))
    return in_stages(stages)


def in_stages(stages: Sequence[Reranker]) -> Reranker:
    """Combines rerankers: each one judges the best hits of the one before."""

    def rerank(question: str, hits: Sequence[Hit]) -> Reranked:
        result = Reranked(hits=tuple(hits))
        for stage in stages:
            stage_result = stage(question, result.hits)
            if stage_result.by:
                rest = result.scores[len(stage_result.scores) :]
                result = replace(
                    stage_result,
                    # Scores of different stages are not comparable; only their order is.
                    scores=stage_result.scores
                    + tuple(min(s, stage_result.scores[-1]) for s in rest),
                    by=result.by + stage_result.by,
                    usage=result.usage + stage_result.usage,
                    failed=result.failed,
                )
            elif stage_result.failed:
                result = replace(result, failed=stage_result.failed)
        return result

    return rerank


class CrossEncoderReranker:
    """Judges question and passage together. Loads on first use, by name or local path."""

    def __init__(self, name: str, limit: int = PASSAGES) -> None:
        self.name = name
        self._limit = limit
        self._model: Any = None
        self._loading = Lock()

    def __call__(self, question: str, hits: Sequence[Hit]) -> Reranked:
        candidates = hits[: self._limit]
        try:
            scores = self._scores([(question, hit.chunk.index_text) for hit in candidates])
        except ModelError as error:
            logger.warning("not reranked: %s", error)
            return Reranked(hits=tuple(hits), failed=error.kind)
        return reordered(hits, scores, by=self.name)

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        if not pairs:
            return []
        try:
            with self._loading:
                if self._model is None:
                    from sentence_transformers import CrossEncoder
                    from torch.nn import Sigmoid

                    self._model = CrossEncoder(self.name, device="cpu", activation_fn=Sigmoid())
            scores = self._model.predict(list(pairs), show_progress_bar=False)
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            raise ModelUnavailable(
                f"cross-encoder {self.name!r} can't be used: {str(error).splitlines()[0][:200]}",
                remedy="install the `rerank` extra, and put a model's name or folder into "
                "ONCALL_CROSS_ENCODER",
            ) from error
        return [float(score) for score in scores]


class ModelReranker:
    """Asks the language model for one score from 0 to 10 for each passage, all in one call."""

    def __init__(self, model: ChatModel, limit: int = PASSAGES) -> None:
        self.name = model.name
        self._model = model
        self._limit = limit

    def __call__(self, question: str, hits: Sequence[Hit]) -> Reranked:
        candidates = hits[: self._limit]
        if not candidates:
            return Reranked(hits=tuple(hits))
        try:
            reply, usage = self._model.structured(_request(question, candidates), Scores)
            scores = _by_number(reply, len(candidates), usage)
        except ModelError as error:
            logger.warning("not reranked: %s", error)
            return Reranked(hits=tuple(hits), failed=error.kind)
        return reordered(hits, [score / SCALE for score in scores], by=self.name, usage=usage)


class Score(BaseModel):
    model_config = ConfigDict(extra="forbid")

    number: int
    score: Annotated[int, Field(ge=0, le=SCALE)]


class Scores(BaseModel):
    """What the language model returns."""

    model_config = ConfigDict(extra="forbid")

    scores: list[Score]


def reordered(
    hits: Sequence[Hit], scores: Sequence[float], *, by: str, usage: Usage = Usage()
) -> Reranked:
    """Sorts judged hits by score, ties in their old order; the others follow."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    rest = hits[len(scores) :]
    return Reranked(
        hits=(*(hits[place] for place in order), *rest),
        scores=tuple(scores[place] for place in order),
        by=(by,) if scores else (),
        usage=usage,
    )


def _request(question: str, hits: Sequence[Hit]) -> Prompt:
    return render(
        "rerank",
        question=Foreign("question", question),
        passages=[
            Foreign(f"passage {number}", hit.chunk.index_text[:PASSAGE_CHARACTERS])
            for number, hit in enumerate(hits, start=1)
        ],
    )


def _by_number(reply: Scores, expected: int, usage: Usage) -> list[float]:
    """One score for each passage. Raises InvalidModelOutput for a missing or duplicate number."""
    scores = {score.number: float(score.score) for score in reply.scores}
    if sorted(scores) != list(range(1, expected + 1)) or len(reply.scores) != expected:
        lose(usage)
        raise InvalidModelOutput(f"scores for {sorted(scores)} of {expected} passages")
    return [scores[number] for number in range(1, expected + 1)]
