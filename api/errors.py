"""Errors for clients and for the OpenAPI page: enough to act on, without internal details."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from agents.ledger.ledger import LimitReached
from api.auth.routes import RequestRejected
from config.errors import (
    CopilotError,
    DatabaseAway,
    DiskFull,
    IndexStoreAway,
    PeopleUnknown,
    new_reference,
)
from durable.database import now
from durable.failures import storage_failure

log = structlog.get_logger()


class ClientLeft(BaseException):
    """The client stopped waiting. Not an Exception, so fallbacks for failed steps ignore it."""


def failure(error: Exception, *, local: bool) -> tuple[int, dict[str, Any]]:
    """Returns status and body: the message to the operator at this machine, and a log reference to
    other callers. While Slack or the database can't be asked, everybody is told so."""
    error = _cause(error)
    if isinstance(error, DatabaseAway | DiskFull):
        log.warning("a request failed: the database is away or full", cause=error.problem)
        detail = str(error) if local else _AWAY.format(retry_after=error.retry_after)
        return 503, {"detail": detail}
    expected = isinstance(error, CopilotError)
    if expected and (local or isinstance(error, PeopleUnknown)):
        return 503, {"detail": str(error)}
    mark = new_reference()
    log.error("a request failed", reference=mark, exc_info=error)
    detail = "this can't be answered just now" if expected else "something went wrong"
    return 503 if expected else 500, {"detail": detail, "reference": mark}


def retry_after(error: Exception) -> int:
    """Seconds; 0 where nobody knows."""
    cause = _cause(error)
    if isinstance(cause, PeopleUnknown | DatabaseAway | DiskFull | IndexStoreAway):
        return cause.retry_after
    return 0


def _cause(error: Exception) -> Exception:
    """The failure of the database or disk behind an error; else the error."""
    return storage_failure(error) or error


_AWAY = (
    "the database can't be asked at the moment, so nothing is known; "
    "try again in {retry_after} seconds"
)


def limit_reached(reached: LimitReached) -> RequestRejected:
    most = reached.domain.limits.questions_per_user_per_hour
    detail = f"{most} questions in an hour are the limit for one person; try again later"
    seconds = max(1, round((reached.free_at - now()).total_seconds()))
    return RequestRejected(429, detail, retry_after=seconds)


def add_failures(app: FastAPI) -> None:
    for kind, handler in (
        (RequestRejected, _refused),
        (RequestValidationError, _invalid),
        (HTTPException, _plain),
        (CopilotError, _failed),
        (SQLAlchemyError, _failed),
        (Exception, _failed),
    ):
        app.add_exception_handler(kind, handler)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRejected)  # noqa: S101 - registered for it alone
    return error.response()


def _failed(request: Request, error: Exception) -> JSONResponse:
    caller = getattr(request.state, "caller", None)
    status, body = failure(error, local=caller is not None and caller.local)
    after = retry_after(error)
    return JSONResponse(body, status, {"Retry-After": str(after)} if after else None)


def _plain(request: Request, error: Exception) -> JSONResponse:
    """Does not echo the path or the method."""
    status = getattr(error, "status_code", 500)
    headers = getattr(error, "headers", None)
    return JSONResponse({"detail": getattr(error, "detail", "")}, status, headers)


def _invalid(request: Request, error: Exception) -> JSONResponse:
    """Replaces FastAPI's response, which echoes the value and the names of unknown keys."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it alone
    details = [
        {"where": _where(detail["loc"], detail["type"]), "problem": detail["msg"]}
        for detail in error.errors()
    ]
    return JSONResponse({"detail": details[:20]}, 422)


def _where(location: Sequence[int | str], kind: str) -> str:
    path = location[:-1] if kind == "extra_forbidden" else location
    return ".".join(str(part) for part in path)


class WrongKey(BaseModel):
    where: str = Field(description="body.top_k, query.domain, …")
    problem: str


class ErrorShown(BaseModel):
    detail: str | list[WrongKey]
    reference: str | None = Field(None, description="Under which the log has the rest")


def problem(description: str, **examples: str | list[dict[str, str]]) -> dict[str, Any]:
    """A response of a route's OpenAPI entry. `examples`: name → `detail`."""
    samples = {name: {"value": {"detail": detail}} for name, detail in examples.items()}
    content = {"content": {"application/json": {"examples": samples}}} if samples else {}
    return {"model": ErrorShown, "description": description, **content}


NO_DOCUMENT = "no such document"
NO_CONVERSATION = "no such conversation of yours"
_NO_SUCH = problem("What is asked for doesn't exist, or isn't allowed so")
PROBLEMS: Mapping[int | str, dict[str, Any]] = {
    401: problem(
        "No token where one is needed, or a wrong one",
        wrong_token="the bearer token is wrong, or has been revoked",  # noqa: S106 - no token
    ),
    403: problem("The token may not do this, or the person that it names may not ask here"),
    422: _NO_SUCH,
    429: problem("Too many requests or questions; `Retry-After` says when to come again"),
    503: problem("It can't be answered just now, or too much is asked at once"),
}
"""Error responses of every route."""
_UNREADABLE: Mapping[int | str, dict[str, Any]] = {
    400: problem(
        "The body can't be read, or has no single meaning",
        key_twice="the body can't be read: a key is given twice",
    ),
    413: problem("The body is longer than 256,000 bytes"),
    415: problem("The body doesn't say that it is JSON", not_json="send application/json in UTF-8"),
}
_NO_DOMAIN = "no such domain for you; name one that you may use: platform, privacy, security"


def _wrong(where: str, problem: str) -> list[dict[str, str]]:
    return [{"where": where, "problem": problem}]


QNA_PROBLEMS: Mapping[int | str, dict[str, Any]] = {
    **_UNREADABLE,
    422: problem(
        "What is asked for doesn't exist, or isn't allowed so",
        unknown_key=_wrong("body", "unknown key; did you mean 'conversation_id'?"),
        unknown_role=_wrong(
            "body.conversation_history.0.role", "Input should be 'user', 'agent' or 'assistant'"
        ),
        unknown_domain=_NO_DOMAIN,
    ),
}
RETRIEVE_PROBLEMS: Mapping[int | str, dict[str, Any]] = {
    **_UNREADABLE,
    422: problem(
        "What is asked for doesn't exist, or isn't allowed so",
        unknown_key=_wrong("body", "unknown key; did you mean 'enable_rerank'?"),
        too_many=_wrong("body.top_k", "Input should be less than or equal to 200"),
        unknown_domain=_NO_DOMAIN,
    ),
}
