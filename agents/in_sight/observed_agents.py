"""What one domain's agents did with a question, as figures; and no fallback is silent."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

import structlog

from agents.answer import Answer, Ask, Fallback, Progress, Question
from agents.graph import fallbacks_of
from config.models import Prices
from telemetry import metrics
from telemetry.tracing import span

log = structlog.get_logger()

TOLD_EVERY = 60.0
"""Seconds between two warnings of the same kind: a model that is away for an hour is no flood."""


class FallbackWarnings:
    """Warns of the first fallback of a kind at once, then of how many came since. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._untold: dict[tuple[str, Fallback], int] = {}
        self._told_at: dict[tuple[str, Fallback], float] = {}

    def __call__(self, domain: str, fallback: Fallback) -> None:
        key, now = (domain, fallback), self._clock()
        with self._lock:
            times = self._untold.get(key, 0) + 1
            due = now - self._told_at.get(key, float("-inf")) >= TOLD_EVERY
            self._untold[key] = 0 if due else times
            if due:
                self._told_at[key] = now
        if due:
            log.warning(
                "an agent went on without the model"
                if fallback.outage
                else "an agent did not follow the model",
                domain=domain,
                node=fallback.node,
                reason=fallback.reason,
                times=times,
            )


_warn = FallbackWarnings()


def observed(
    ask: Ask,
    domain: str,
    *,
    prices: Prices | None = None,
    warn: Callable[[str, Fallback], None] = _warn,
    for_people: bool = True,
) -> Ask:
    """The same agents; what each answer took and cost is counted.

    `for_people`: False where nobody waits for the answer: what it costs is counted all the same,
    and nothing of how people were answered."""

    def run(question: Question, progress: Progress | None = None) -> Answer:
        about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": domain}
        with span(f"invoke_agent {domain}", about) as traced:
            began = time.monotonic()
            answer = ask(question, progress)
            _measure_cost(domain, answer, prices)
            if for_people:
                _measure(domain, answer, time.monotonic() - began)
            for fallback in answer.fallbacks:
                metrics.FALLBACKS.labels(domain, fallback.node, fallback.reason).inc()
                warn(domain, fallback)
            traced.set(
                {
                    "oncall.path": answer.path,
                    "oncall.confidence": answer.confidence,
                    "oncall.generation": answer.generation,
                    "gen_ai.usage.input_tokens": answer.usage.input_tokens,
                    "gen_ai.usage.output_tokens": answer.usage.output_tokens,
                    **fallbacks_of(answer.fallbacks),
                }
            )
            return answer

    return run


def _measure_cost(domain: str, answer: Answer, prices: Prices | None) -> None:
    metrics.TOKENS.labels(domain, "input").inc(answer.usage.input_tokens)
    metrics.TOKENS.labels(domain, "output").inc(answer.usage.output_tokens)
    if prices:
        metrics.COST.labels(domain).inc(prices.of(answer.usage))


def _measure(domain: str, answer: Answer, seconds: float) -> None:
    metrics.ASKED.labels(domain, answer.path).observe(seconds)
    for node, ms in answer.timings_ms.items():
        if node != "total":
            metrics.NODE.labels(node).observe(ms / 1000)
    if answer.degraded:
        metrics.DEGRADED.labels(domain).inc()
    if answer.refusal:
        metrics.REFUSALS.labels(domain, answer.refusal).inc()
