"""Whether passages entail a claim, by a cross-encoder, where one is configured."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

logger = logging.getLogger(__name__)

Entails = Callable[[Sequence[tuple[str, str]]], Sequence[float] | None]
"""(passage, claim) pairs → probability of each that the passage entails the claim, 0–1; None when
that can't be told now."""


class EntailmentModel:
    """A model for natural language inference, by name or local folder. Loads on first use."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._loaded: tuple[Any, int] | None = None
        self._loading = Lock()

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float] | None:
        if not pairs:
            return []
        try:
            with self._loading:
                if self._loaded is None:
                    self._loaded = _load(self.name)
            model, label = self._loaded
            found = model.predict(list(pairs), apply_softmax=True, show_progress_bar=False)
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0][:200]
            logger.warning(
                "answers are checked by words alone: ONCALL_ENTAILMENT_MODEL %r can't be used "
                "(install the `rerank` extra, give a model's name or folder): %s",
                self.name,
                reason,
            )
            return None
        return [float(row[label]) for row in found]


def _load(name: str) -> tuple[Any, int]:
    """The model, and which of its labels says that the claim follows."""
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(name, device="cpu")
    labels = {str(label).lower(): place for place, label in model.config.id2label.items()}
    for said, place in labels.items():
        if said.startswith("entail"):
            return model, int(place)
    raise ValueError(f"none of its labels is entailment: {', '.join(labels)}")
