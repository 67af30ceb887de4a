"""One line in the log for each question, whichever door it came by.

It holds what an operator wants to count and sort by, and no word of what was asked or answered
unless that is switched on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import structlog

from agents.answer import Answer, Question
from agents.confidence.confidence_levels import in_words
from config.domain import Domain
from config.models import Prices, Usage
from telemetry.tracing import span

log = structlog.get_logger()

QuestionDoor = Literal[
    "mention", "follow_up", "channel", "alert", "direct_message", "api", "api_stream", "mcp", "cli"
]

AskIn = Callable[[Domain, Question], Answer]
"""The agents of one domain."""
Among = Callable[[AskIn], tuple[Answer, Domain]]
"""Asks one domain or more, and says which of the answers counts."""


@dataclass(frozen=True, kw_only=True)
class AskedThrough:
    """Where a question came from."""

    id: str
    door: QuestionDoor
    text: str


@dataclass(frozen=True, kw_only=True)
class QuestionLog:
    words: bool = False
    """The question's and the answer's own words are in the line, too."""
    prices: Prices | None = None

    def answered(
        self, through: AskedThrough, domains: Sequence[Domain], ask: AskIn, among: Among
    ) -> tuple[Answer, Domain]:
        """What `among` says, asking domains by what it is given for it; what it raises is in the
        line as its kind. The answer's usage is that of all that was done for it."""
        began, given = time.perf_counter(), list[Answer]()

        def asked_in(domain: Domain, question: Question) -> Answer:
            given.append(ask(domain, question))
            return given[-1]

        about = {"oncall.question.id": through.id, "oncall.door": through.door}
        with span("question", about) as traced:
            try:
                answer, domain = among(asked_in)
            except BaseException as error:
                usage = sum((one.usage for one in given), Usage())
                log.warning(
                    "question",
                    **self._common(through, began, len(given), usage),
                    domain=domains[0].domain if domains else "",
                    path="failed" if isinstance(error, Exception) else "abandoned",
                    error=type(error).__name__,
                )
                raise
            traced.set({"oncall.domain": domain.domain, "oncall.path": answer.path})
        log.info(
            "question",
            **self._common(through, began, len(given), answer.usage),
            **_about(answer),
            domain=domain.domain,
            **({"answer": answer.text} if self.words else {}),
        )
        return answer, domain

    def _common(
        self, through: AskedThrough, began: float, asked: int, usage: Usage
    ) -> dict[str, Any]:
        """`asked`: domains whose agents were."""
        return {
            "id": through.id,
            "door": through.door,
            "ms": round((time.perf_counter() - began) * 1000, 1),
            "domains_asked": asked,
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
        "confidence": answer.confidence,
        "confidence_level": in_words(answer.confidence),
        "cached": answer.path == "cached",
        "refusal": answer.refusal,
        "fallbacks": [f"{one.node}: {one.reason}" for one in answer.fallbacks],
        "generation": answer.generation,
        "documents": sorted({one.document for one in answer.citations if one.document}),
        "node_ms": nodes,
    }
