"""`/api/agentic_qna`: a question to the agents, answered at once or as it is written."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, field_validator

from agents.answer import (
    LONGEST_QUESTION,
    Answer,
    Ask,
    Conversation,
    Question,
    Turn,
    shown_of_each,
)
from agents.in_sight.question_log import AskedThrough
from agents.response import to_response
from agents.thread.asked_when import is_zone
from agents.which_domain.answering import Answering
from api.served import ADDRESS, Opened, Served
from api.streamed import Stream, Streams, Unheard
from config.domain import Domain
from telemetry import metrics


class EarlierMessage(BaseModel):
    role: Literal["user", "assistant"]
    content: str = Field(max_length=20_000)


class QnaRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=LONGEST_QUESTION)
    conversation_id: str = Field(
        "", description="What was asked under it before is leant on; by one asker", max_length=200
    )
    conversation_history: list[EarlierMessage] = Field([], max_length=50)
    domain: str = Field("", description="All domains are tried without one", max_length=64)
    asker_email: str = Field(
        "", description="Whose document permissions count", max_length=320, pattern=ADDRESS
    )
    time_zone: str = Field("UTC", description="The asker's, as IANA names it", max_length=64)
    stream: bool = Field(False, description="Server-sent events: status, delta, answer")

    @field_validator("time_zone")
    @classmethod
    def _known(cls, name: str) -> str:
        if not is_zone(name):
            raise ValueError("no such time zone; write it as IANA does, like Asia/Singapore")
        return name


def question_routes(served: Served, ask: Callable[[str], Ask], answering: Answering) -> APIRouter:
    routes = APIRouter()
    streams = Streams()

    @routes.post("/api/agentic_qna", response_model=None)
    async def agentic_qna(
        asked: QnaRequest, request: Request
    ) -> dict[str, Any] | StreamingResponse:
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
            events = streams.start(answered, local=caller.local)
            return StreamingResponse(events, media_type="text/event-stream")
        answer = await run_in_threadpool(answered, None)
        return {**to_response(answer), "conversation_id": asked.conversation_id}

    return routes


def _question(asked: QnaRequest, opened: Opened, domain: Domain, mark: str) -> Question:
    """`mark`: tells this request from the others of its conversation."""
    who = opened.asker or opened.caller.identity
    place = json.dumps(["api", opened.caller.name, who, asked.conversation_id])
    talk = Conversation(place=place, message=mark, asker=who or opened.caller.name)
    return Question(
        text=asked.query,
        history=tuple(Turn(role=m.role, content=m.content) for m in asked.conversation_history),
        readers=opened.readers(domain),
        time_zone=asked.time_zone,
        conversation=talk if asked.conversation_id else None,
    )
