"""The HTTP API: the same agents through another door. See design §6.5 for the contract."""

from __future__ import annotations

import hmac
import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, replace
from typing import Any, Literal

import structlog
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from agents.answer import Answer, Ask, Question, Turn
from agents.domain_choice import first_confident
from agents.response import to_response
from config.domain import Domain
from config.errors import CopilotError, UsageError, new_reference
from index.readers import as_read_by, identities, readers_of
from index.search import Snapshot

log = structlog.get_logger()

Retrieve = Callable[..., dict[str, Any]]
"""(domain, question, *, pipeline, top_k, search_type, readers) → the `/api/retrieve` response."""
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]
LOOPBACK = {"127.0.0.1", "::1", "localhost", "testclient"}


class Message(BaseModel):
    role: Literal["user", "assistant"]
    content: str = Field(max_length=20_000)


class QnaRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=8_000)
    conversation_id: str = Field("", max_length=200)
    conversation_history: list[Message] = Field([], max_length=50)
    domain: str = Field("", description="All domains are tried without one", max_length=64)
    asker_email: str = Field("", description="Whose document permissions count", max_length=320)
    stream: bool = Field(False, description="Server-sent events: status, delta, answer")


class RetrieveRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=8_000)
    domain: str = Field("", max_length=64)
    pipeline: str = "standard"
    top_k: int | None = Field(None, description="The domain's own without one", ge=1, le=200)
    search_type: str = "hybrid"
    asker_email: str = Field("", max_length=320)


def build_api(
    *,
    domains: Mapping[str, Domain] | Callable[[], Mapping[str, Domain]],
    ask: Callable[[str], Ask],
    retrieve: Retrieve,
    snapshot: Callable[[str], Snapshot],
    token: SecretStr | None = None,
    lifespan: Lifespan | None = None,
) -> FastAPI:
    """The app of `oncall serve`. `lifespan`: what starts and stops with the server.

    Without `token` only this machine may use `/api`."""
    current = domains if callable(domains) else lambda: domains
    app = FastAPI(title="On-call Copilot", lifespan=lifespan)
    guard = Depends(_guard(token))
    _add_qna(app, guard, current, ask)
    _add_index(app, guard, current, retrieve, snapshot)
    app.add_exception_handler(CopilotError, _refusal)
    app.add_exception_handler(Exception, _apology)
    return app


def _add_qna(
    app: FastAPI, guard: Any, domains: Callable[[], Mapping[str, Domain]], ask: Callable[[str], Ask]
) -> None:
    @app.post("/api/agentic_qna", dependencies=[guard], response_model=None)
    def agentic_qna(asked: QnaRequest, request: Request) -> dict[str, Any] | StreamingResponse:
        chosen = _chosen(domains(), asked.domain)
        question = Question(
            text=asked.query,
            history=tuple(Turn(role=m.role, content=m.content) for m in asked.conversation_history),
            id=asked.conversation_id,
            asker=asked.asker_email,
        )
        if asked.stream or "text/event-stream" in request.headers.get("accept", ""):
            work = _Streamed(lambda p: _best(chosen, ask, question, asked.asker_email, p))
            return StreamingResponse(work.events(), media_type="text/event-stream")
        answer = _best(chosen, ask, question, asked.asker_email, None)
        return {**to_response(answer), "conversation_id": asked.conversation_id}


def _add_index(
    app: FastAPI,
    guard: Any,
    domains: Callable[[], Mapping[str, Domain]],
    retrieve: Retrieve,
    snapshot: Callable[[str], Snapshot],
) -> None:
    @app.post("/api/retrieve", dependencies=[guard])
    def retrieve_passages(asked: RetrieveRequest) -> dict[str, Any]:
        domain = _one(domains(), asked.domain)
        return retrieve(
            domain.domain,
            asked.query,
            pipeline=asked.pipeline,
            top_k=asked.top_k,
            search_type=asked.search_type,
            readers=_readers(domain, asked.asker_email),
        )

    def opened(name: str) -> Snapshot:
        """What the API may show of a domain to whoever asks."""
        domain = _one(domains(), name)
        return as_read_by(snapshot(domain.domain), _readers(domain, ""))

    @app.get("/api/documents", dependencies=[guard])
    def documents(domain: str = "") -> list[dict[str, Any]]:
        cards = opened(domain).documents.values()
        return [{"id": c.id, "title": c.title, "url": c.url, "summary": c.summary} for c in cards]

    @app.get("/api/documents/{document_id}/summary", dependencies=[guard])
    def summary(document_id: str, domain: str = "") -> dict[str, Any]:
        card = opened(domain).documents.get(document_id)
        if card is None:
            raise HTTPException(404, f"no document {document_id!r}")
        shown = {"id", "title", "url", "summary", "faqs", "keywords", "document_type"}
        return {k: v for k, v in asdict(card).items() if k in shown}

    @app.get("/api/documents/{document_id}/citations", dependencies=[guard])
    def citations(document_id: str, domain: str = "") -> list[dict[str, Any]]:
        """Every place of the document that an answer can point to."""
        summary(document_id, domain)  # 404 for one that is unknown or not open
        chunks = opened(domain).chunks(document_id)
        places = {chunk.url: " › ".join(chunk.heading_path) for chunk in chunks}
        return [{"url": url, "heading": heading} for url, heading in places.items()]

    @app.get("/api/entities", dependencies=[guard])
    def entities(domain: str = "") -> dict[str, dict[str, int]]:
        """Kind → entity → passages that name it, the most frequent first."""
        found: dict[str, dict[str, int]] = {}
        inside = opened(domain)
        for document in inside.documents:
            for chunk in inside.chunks(document):
                for entity in chunk.entities:
                    kind = found.setdefault(entity.kind, {})
                    kind[entity.value] = kind.get(entity.value, 0) + 1
        return {
            kind: dict(sorted(values.items(), key=lambda item: -item[1])[:200])
            for kind, values in sorted(found.items())
        }


class _Streamed:
    """Progress as server-sent events; the work runs in a thread of its own."""

    def __init__(self, work: Callable[[Any], Answer]) -> None:
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


def _best(
    domains: list[Domain], ask: Callable[[str], Ask], question: Question, email: str, progress: Any
) -> Answer:
    shown = progress if len(domains) == 1 else None

    def answer(domain: Domain) -> Answer:
        asked = replace(question, readers=_readers(domain, email))
        return ask(domain.domain)(asked, shown)

    return first_confident(domains, answer)[0]


def _readers(domain: Domain, email: str) -> frozenset[str] | None:
    return readers_of(domain.access.audience, lambda: identities(email))


def _chosen(domains: Mapping[str, Domain], name: str) -> list[Domain]:
    return [_one(domains, name)] if name else list(domains.values())


def _one(domains: Mapping[str, Domain], name: str) -> Domain:
    if not name and len(domains) == 1:
        return next(iter(domains.values()))
    if name not in domains:
        raise HTTPException(422, f"unknown domain {name!r}: one of {', '.join(sorted(domains))}")
    return domains[name]


def _guard(token: SecretStr | None) -> Callable[[Request], None]:
    def check(request: Request) -> None:
        if token is None:
            host = request.client.host if request.client else ""
            if host not in LOOPBACK or "x-forwarded-for" in request.headers:
                raise HTTPException(401, "set ONCALL_API_TOKEN to use the API from elsewhere")
            return
        given = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not hmac.compare_digest(given.encode(), token.get_secret_value().encode()):
            raise HTTPException(401, "the bearer token is missing or wrong")

    return check


def _refusal(request: Request, error: Exception) -> JSONResponse:
    status = 422 if isinstance(error, UsageError) else 503
    return JSONResponse({"detail": str(error)}, status)


def _apology(request: Request, error: Exception) -> JSONResponse:
    mark = new_reference()
    log.error("request failed", reference=mark, path=request.url.path, exc_info=error)
    return JSONResponse({"detail": "something went wrong", "reference": mark}, 500)
