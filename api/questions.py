"""`/api/agentic_qna`: a question to the agents, answered at once or as it is written."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from agents.answer import Answer, Ask, Conversation, Question, shown_of_each
from agents.observability import AskedThrough
from agents.response import to_response
from agents.routing.router import Answering
from api.conversations import asker_of, place_of
from api.served import Opened, Served
from api.shapes.examples import QNA_ANSWERED, QNA_ASKED
from api.shapes.problems import QNA_PROBLEMS
from api.shapes.question_shapes import QnaRequest
from api.streamed import Stream, Streams, Unheard
from config.domain import Domain
from telemetry import metrics


def question_routes(served: Served, ask: Callable[[str], Ask], answering: Answering) -> APIRouter:
    routes = APIRouter()
    streams = Streams()

    @routes.post(
        "/api/agentic_qna",
        summary="Ask a question",
        response_model=None,
        responses={200: QNA_ANSWERED, **QNA_PROBLEMS},
    )
    async def agentic_qna(
        asked: Annotated[QnaRequest, Body(openapi_examples=QNA_ASKED)], request: Request
    ) -> dict[str, Any] | StreamingResponse:
        """An answer from the documents, with what it cites, or an honest word that they don't
        say."""
        caller, mark = request.state.caller, secrets.token_hex(8)
        opened = served.to(caller, asked.asker_email)
        # In a thread: whether a person may ask is looked up in Slack.
        domains = await run_in_threadpool(opened.candidates, asked.domain)

        def answered(stream: Stream | None) -> Answer:
            # Of several domains nobody knows yet whose words will be the answer.
            # And what is for single readers is on record before a word of it is shown.
            known = len(domains) == 1 and domains[0].access.audience == "channel"
            progress = stream if known or not stream else Unheard(stream)

            through = AskedThrough(
                id=mark, door="api_stream" if stream else "api", text=asked.query
            )
            try:
                answer, domain = answering(
                    through,
                    domains,
                    lambda domain: _question(asked, opened, domain, mark),
                    lambda domain, question: ask(domain.domain)(question, progress),
                )
            except Exception:
                metrics.FAILED.labels(domains[0].domain).inc()
                raise
            for name, generation, documents in shown_of_each(answer, domain.domain):
                opened.showing("agentic_qna", opened.domains[name], generation, documents)
            return answer

        if asked.stream or "text/event-stream" in request.headers.get("accept", ""):
            events = streams.start(
                lambda stream: _body(answered(stream), asked), local=caller.local
            )
            return StreamingResponse(events, media_type="text/event-stream")
        return _body(await run_in_threadpool(answered, None), asked)

    return routes


def _body(answer: Answer, asked: QnaRequest) -> dict[str, Any]:
    return {**to_response(answer), "conversation_id": asked.conversation_id}


def _question(asked: QnaRequest, opened: Opened, domain: Domain, mark: str) -> Question:
    """`mark`: tells this request from the others of its conversation."""
    place = place_of(opened, asked.conversation_id)
    talk = Conversation(place=place, message=mark, asker=asker_of(opened))
    return Question(
        text=asked.query,
        history=tuple(message.as_turn() for message in asked.conversation_history),
        readers=opened.readers(domain),
        time_zone=asked.time_zone,
        conversation=talk if asked.conversation_id else None,
    )
