"""What a call of a chat model took and used, as a metric and a span."""

from __future__ import annotations

import time

from telemetry import metrics
from telemetry.tracing import begun_span


class ModelCall:
    """One call, from its request to its last word."""

    def __init__(self, model: str, *, provider: str, prompt: str, max_tokens: int) -> None:
        """`prompt`: the name of its wording."""
        self._model = model
        self._began = time.monotonic()
        self._span = begun_span(
            f"chat {model}",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": provider,
                "gen_ai.request.model": model,
                "gen_ai.request.max_tokens": max_tokens,
                "oncall.prompt": prompt,
            },
            kind="client",
        )

    def used(self, input_tokens: int, output_tokens: int) -> None:
        self._span.set(
            {
                "gen_ai.usage.input_tokens": input_tokens,
                "gen_ai.usage.output_tokens": output_tokens,
            }
        )

    def end(self, outcome: str, error: BaseException | None = None) -> None:
        """`outcome`: see the metric."""
        metrics.MODEL_CALL.labels(self._model, outcome).observe(time.monotonic() - self._began)
        self._span.end(error)
