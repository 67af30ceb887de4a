"""`/api/agentic_qna`: a question to the agents, answered as one JSON response or as server-sent
events. `/api/agentiqna`, as it was printed, is the same route."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import copy_context
from functools import partial
from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Body, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from agents.answer import Answer, Ask, Question
from agents.ledger.ledger import QuestionDoor, QuestionOrigin
from agents.response import to_response
from agents.routing.router import DomainRouter
from agents.steps import SilentProgress, Step
from api.auth.routes import RequestRejected
from api.errors import QNA_PROBLEMS, ClientLeft, failure
from api.schemas.examples import QNA_ANSWERED, QNA_ASKED
from api.schemas.questions import QnaRequest
from api.scope import RequestScope, RequestScopes, in_workflow
from config.domain import Domain
from index.permissions.acts import Act

log = structlog.get_logger()

MOST_STREAMS = 16
"""Concurrent streams; each uses a thread."""


class Streams:
    """The streams of one server, up to a limit."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._free = threading.BoundedSemaphore(most)

    def start(
        self, work: Callable[[Stream], Mapping[str, Any]], *, local: bool
    ) -> AsyncIterator[str]:
        """Yields `status` and `delta` events, then `answer` with the result of `work`, or `error`.

        Raises RequestRejected at the limit. Must be called on the server's event loop. Closing the
        iterator stops the work at its next progress report."""
        if not self._free.acquire(blocking=False):
            raise RequestRejected(503, "too many answers are being streamed", retry_after=1)
        stream = Stream(asyncio.get_running_loop())

        def run() -> None:
            try:
                stream.put("answer", work(stream))
            except ClientLeft:
                log.info("client closed the stream before the answer")
            except Exception as error:
                stream.put("error", failure(error, local=local)[1])
            finally:
                self._free.release()
                stream.end()

        in_context = partial(copy_context().run, run)
        threading.Thread(target=in_context, name="stream", daemon=True).start()
        return stream.events()


class Stream:
    """Passes progress from the worker thread to the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: asyncio.Queue[tuple[str, Any] | None] = asyncio.Queue()
        self._closed = threading.Event()

    def step(self, step: Step, text: str, **scores: float) -> None:
        self.go_on()
        rounded = {name: round(score, 3) for name, score in scores.items()}
        self.put("status", {"step": step.value, "text": text, "scores": rounded})

    def delta(self, text: str) -> None:
        self.go_on()
        self.put("delta", {"text": text})

    def go_on(self) -> None:
        """Raises ClientLeft once the client is gone."""
        if self._closed.is_set():
            raise ClientLeft

    def put(self, kind: str, body: Any) -> None:
        self._hand_over((kind, body))

    def end(self) -> None:
        self._hand_over(None)

    def _hand_over(self, item: tuple[str, Any] | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, item)
        except RuntimeError:  # the server has stopped, and its loop is closed
            self._closed.set()

    async def events(self) -> AsyncIterator[str]:
        try:
            while (item := await self._queue.get()) is not None:
                yield f"event: {item[0]}\ndata: {json.dumps(item[1], ensure_ascii=False)}\n\n"
        finally:
            self._closed.set()


def question_routes(
    served: RequestScopes, ask: Callable[[str], Ask], answering: DomainRouter
) -> APIRouter:
    routes = APIRouter()
    streams = Streams()

    @routes.post("/api/agentiqna", response_model=None, include_in_schema=False)
    @routes.post(
        "/api/agentic_qna",
        summary="Ask a question",
        response_model=None,
        responses={200: QNA_ANSWERED, **QNA_PROBLEMS},
    )
    async def agentic_qna(
        body: Annotated[QnaRequest, Body(openapi_examples=QNA_ASKED)], request: Request
    ) -> dict[str, Any] | StreamingResponse:
        """An answer from the documents, with what it cites, or an honest word that they don't
        say."""
        caller, mark = request.state.caller, secrets.token_hex(8)
        opened = served.to(caller, Act.API_ASK, body.asker_email)
        is_stream = body.stream or "text/event-stream" in request.headers.get("accept", "")
        door: QuestionDoor = "api_stream" if is_stream else "api"
        question = QuestionOrigin(id=mark, door=door, text=body.query)
        # In a thread, because the access check calls Slack.
        origin, domains = await run_in_threadpool(opened.admitted, answering, question, body.domain)

        def answered(stream: Stream | None) -> Answer:
            # With several domains, the answering one is not known yet.
            # And access to restricted documents is recorded before any text is sent.
            may_stream = len(domains) == 1 and domains[0].access.audience == "channel"
            progress = stream if may_stream or not stream else SilentProgress(stream.go_on)
            answer, _ = opened.answered(
                domains,
                lambda: answering(
                    origin,
                    domains,
                    lambda domain: _question(body, opened, domain, mark),
                    lambda domain, question: ask(domain.domain)(question, progress),
                ),
            )
            return answer

        with in_workflow(body.workflow_id):
            if is_stream:
                events = streams.start(
                    lambda stream: _body(answered(stream), body), local=caller.local
                )
                return StreamingResponse(events, media_type="text/event-stream")
            return _body(await run_in_threadpool(answered, None), body)

    return routes


def _body(answer: Answer, body: QnaRequest) -> dict[str, Any]:
    ids = {"conversation_id": body.conversation_id, "workflow_id": body.workflow_id}
    return {**to_response(answer), **ids}


def _question(body: QnaRequest, opened: RequestScope, domain: Domain, mark: str) -> Question:
    return Question(
        text=body.query,
        history=tuple(message.as_turn() for message in body.conversation_history),
        readers=opened.readers(domain),
        time_zone=body.time_zone,
        conversation=opened.conversation(body.conversation_id, mark),
    )
