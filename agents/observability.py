"""One log line per question for every entry point, metrics per domain, warnings of fallbacks.

The log line contains fields to count and sort by, and no text of questions or answers unless that
is switched on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock
from typing import Any

import structlog

from agents.answer import Answer, Ask, AskWrapper, Fallback, Question
from agents.confidence import confidence_level
from agents.ledger.ledger import QuestionOrigin
from agents.steps import Progress
from config.domain import Domain
from config.models import Prices, Usage, lost_usage, model_time
from enrichment.chunk import DocumentCard
from index.search import Snapshot
from telemetry import metrics
from telemetry.tracing import span

log = structlog.get_logger()

WARN_EVERY = 60.0
"""Seconds between two warnings of one kind: an outage of an hour must not flood the log."""


class FallbackWarnings:
    """Warns of the first fallback of a kind, then counts the next ones. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._unreported: dict[tuple[str, Fallback], int] = {}
        self._warned_at: dict[tuple[str, Fallback], float] = {}

    def __call__(self, domain: str, fallback: Fallback) -> None:
        key, now = (domain, fallback), self._clock()
        with self._lock:
            times = self._unreported.get(key, 0) + 1
            due = now - self._warned_at.get(key, float("-inf")) >= WARN_EVERY
            self._unreported[key] = 0 if due else times
            if due:
                self._warned_at[key] = now
        if due:
            log.warning(
                "agent fell back: model unavailable"
                if fallback.outage
                else "agent fell back: model output not used",
                domain=domain,
                node=fallback.node,
                reason=fallback.reason,
                times=times,
            )


_warn = FallbackWarnings()


def with_metrics(
    domain: str,
    *,
    prices: Prices | None = None,
    warn: Callable[[str, Fallback], None] = _warn,
    for_people: bool = True,
) -> AskWrapper:
    """Counts time, cost and fallbacks of each answer, in a span of its own.

    `for_people`: False where nobody waits for the answer; then only costs and fallbacks count."""

    def wrap(ask: Ask) -> Ask:
        def run(question: Question, progress: Progress | None = None) -> Answer:
            about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": domain}
            with span(f"invoke_agent {domain}", about) as traced:
                began = time.monotonic()
                with lost_usage() as lost:
                    answer = ask(question, progress)
                answer = replace(answer, usage=answer.usage + lost.usage)
                _measure_cost(domain, answer, prices)
                if for_people:
                    _measure(domain, answer, time.monotonic() - began)
                for fallback in answer.fallbacks:
                    metrics.FALLBACKS.labels(domain, fallback.node, fallback.reason).inc()
                    warn(domain, fallback)
                traced.set(_span_attributes(answer))
                return answer

        return run

    return wrap


def with_unread_sources(
    documents: Callable[[], Snapshot],
    unread_since: Callable[[Iterable[DocumentCard]], datetime | None],
) -> AskWrapper:
    """Answers say since when a source of theirs can't be read. `unread_since`: of the earliest of
    these documents' sources; None where all can be read."""

    def wrap(ask: Ask) -> Ask:
        def run(question: Question, progress: Progress | None = None) -> Answer:
            answer = ask(question, progress)
            places = {one.document for one in (*answer.citations, *answer.nearest)}
            cards = documents().documents if places else {}
            named = [cards[one] for one in places if one in cards]
            return replace(answer, unread_since=unread_since(named)) if named else answer

        return run

    return wrap


def fallbacks_of(fallbacks: Sequence[Fallback]) -> dict[str, list[str]]:
    lines = [f"{one.node}: {one.reason}" for one in fallbacks]
    return {"oncall.fallbacks": lines} if lines else {}


def _span_attributes(answer: Answer) -> dict[str, Any]:
    return {
        "oncall.path": answer.path,
        "oncall.query_kind": answer.query_kind,
        "oncall.strategy": answer.strategy,
        "oncall.confidence": answer.confidence,
        "oncall.generation": answer.generation,
        "gen_ai.usage.input_tokens": answer.usage.input_tokens,
        "gen_ai.usage.output_tokens": answer.usage.output_tokens,
        **fallbacks_of(answer.fallbacks),
    }


def _measure_cost(domain: str, answer: Answer, prices: Prices | None) -> None:
    metrics.TOKENS.labels(domain, "input").inc(answer.usage.input_tokens)
    metrics.TOKENS.labels(domain, "output").inc(answer.usage.output_tokens)
    if prices:
        metrics.COST.labels(domain).inc(prices.of(answer.usage))


def _measure(domain: str, answer: Answer, seconds: float) -> None:
    metrics.ANSWER_SECONDS.labels(domain, answer.path).observe(seconds)
    if answer.path != "cached":
        metrics.ANSWERS.labels(domain, answer.query_kind, answer.strategy, answer.path).inc()
        metrics.ATTEMPTS.labels(domain, "searches").observe(answer.searches)
        metrics.ATTEMPTS.labels(domain, "drafts").observe(answer.drafts)
    for node, ms in answer.timings_ms.items():
        if node != "total":
            metrics.NODE.labels(node).observe(ms / 1000)
    if answer.degraded:
        metrics.DEGRADED.labels(domain).inc()
    if answer.refusal:
        metrics.REFUSALS.labels(domain, answer.refusal).inc()


AskIn = Callable[[Domain, Question], Answer]
Among = Callable[[AskIn], tuple[Answer, Domain]]
"""Asks one or more domains and returns the answer that counts."""


@dataclass(frozen=True, kw_only=True)
class QuestionLog:
    words: bool = False
    """The line also contains the texts of question and answer."""
    prices: Prices | None = None
    model_seconds: float = float("inf")
    """That a question waits for the chat model; twice as many where a domain is `thorough`."""

    def answered(
        self, through: QuestionOrigin, domains: Sequence[Domain], ask: AskIn, among: Among
    ) -> tuple[Answer, Domain]:
        """The result of `among`, which asks domains through the callable it gets. Its errors are
        logged by kind and raised. The answer's usage covers all calls made for it."""
        began, answers = time.perf_counter(), list[Answer]()

        def ask_domain(domain: Domain, question: Question) -> Answer:
            answers.append(ask(domain, question))
            return answers[-1]

        about = {"oncall.question.id": through.id, "oncall.door": through.door}
        thorough = any(domain.answer.effort == "thorough" for domain in domains)
        seconds = self.model_seconds * (2 if thorough else 1)
        with span("question", about) as traced, model_time(seconds):
            try:
                answer, domain = among(ask_domain)
            except BaseException as error:
                usage = sum((one.usage for one in answers), Usage())
                log.warning(
                    "question",
                    **self._common(through, began, len(answers), usage),
                    domain=domains[0].domain if domains else "",
                    path="failed" if isinstance(error, Exception) else "abandoned",
                    error=type(error).__name__,
                )
                raise
            traced.set({"oncall.domain": domain.domain, "oncall.path": answer.path})
        log.info(
            "question",
            **self._common(through, began, len(answers), answer.usage),
            **_about(answer),
            domain=domain.domain,
            **({"answer": answer.text} if self.words else {}),
        )
        return answer, domain

    def _common(
        self, through: QuestionOrigin, began: float, domains_asked: int, usage: Usage
    ) -> dict[str, Any]:
        return {
            "id": through.id,
            "door": through.door,
            "ms": round((time.perf_counter() - began) * 1000, 1),
            "domains_asked": domains_asked,
            "calls": usage.calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            **({"cost_dollars": self.prices.of(usage)} if self.prices else {}),
            **({"question": through.text} if self.words else {}),
        }


def _about(answer: Answer) -> dict[str, Any]:
    nodes = {name: round(ms, 1) for name, ms in answer.timings_ms.items() if name != "total"}
    return {
        "path": answer.path,
        "query_kind": answer.query_kind,
        "strategy": answer.strategy,
        "searches": answer.searches,
        "drafts": answer.drafts,
        "confidence": answer.confidence,
        "confidence_level": confidence_level(answer.confidence),
        "cached": answer.path == "cached",
        "refusal": answer.refusal,
        "spent": answer.spent or "",
        "fallbacks": [f"{one.node}: {one.reason}" for one in answer.fallbacks],
        "generation": answer.generation,
        "documents": sorted({one.document for one in answer.citations if one.document}),
        "node_ms": nodes,
    }
