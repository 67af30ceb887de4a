"""`/api/agentic_qna`: a question to the agents, answered at once or as it is written."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from agents.answer import Answer, Ask, Progress, Question, Turn, shown_by
from agents.domain_choice import first_confident
from agents.response import to_response
from api.served import Served
from config.domain import Domain
from config.errors import CopilotError, new_reference

log = structlog.get_logger()


class EarlierMessage(BaseModel):
    role: Literal["user", "assistant"]
    content: str = Field(max_length=20_000)


class QnaRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=8_000)
    conversation_id: str = Field("", max_length=200)
    conversation_history: list[EarlierMessage] = Field([], max_length=50)
    domain: str = Field("", description="All domains are tried without one", max_length=64)
    asker_email: str = Field("", description="Whose document permissions count", max_length=320)
    stream: bool = Field(False, description="Server-sent events: status, delta, answer")


def question_routes(served: Served, ask: Callable[[str], Ask]) -> APIRouter:
    routes = APIRouter()

    @routes.post("/api/agentic_qna", response_model=None)
    def agentic_qna(asked: QnaRequest, request: Request) -> dict[str, Any] | StreamingResponse:
        domains = served.candidates(asked.domain)

        def answered(progress: Progress | None) -> Answer:
            # Of several domains nobody knows yet whose words will be the answer.
            # And what is for single readers is on record before a word of it is shown.
            known = len(domains) == 1 and domains[0].access.audience == "channel"
            shown = progress if known else None

            def in_domain(domain: Domain) -> Answer:
                question = replace(
                    _question(asked), readers=served.readers(domain, asked.asker_email)
                )
                return ask(domain.domain)(question, shown)

            answer, domain = first_confident(domains, in_domain)
            served.showing(
                "agentic_qna", domain, answer.generation, shown_by(answer), asked.asker_email
            )
            return answer

        if asked.stream or "text/event-stream" in request.headers.get("accept", ""):
            return StreamingResponse(_Streamed(answered).events(), media_type="text/event-stream")
        return {**to_response(answered(None)), "conversation_id": asked.conversation_id}

    return routes


def _question(asked: QnaRequest) -> Question:
    return Question(
        text=asked.query,
        history=tuple(Turn(role=m.role, content=m.content) for m in asked.conversation_history),
    )


class _Streamed:
    """Progress as server-sent events; the work runs in a thread of its own."""

    def __init__(self, work: Callable[[Progress], Answer]) -> None:
        self._queue: queue.Queue[tuple[str, Any] | None] = queue.Queue()
        self._work = work

    def status(self, text: str) -> None:
        self._queue.put(("status", {"text": text}))

    def delta(self, text: str) -> None:
        self._queue.put(("delta", {"text": text}))

    def events(self) -> Iterator[str]:
        threading.Thread(target=self._run, daemon=True).start()
        while (event := self._queue.get()) is not None:
            yield f"event: {event[0]}\ndata: {json.dumps(event[1], ensure_ascii=False)}\n\n"

    def _run(self) -> None:
        try:
            self._queue.put(("answer", to_response(self._work(self))))
        except CopilotError as error:
            self._queue.put(("error", {"error": str(error)}))
        except Exception:
            mark = new_reference()
            log.exception("no answer", reference=mark)
            self._queue.put(("error", {"error": "something went wrong", "reference": mark}))
        finally:
            self._queue.put(None)
