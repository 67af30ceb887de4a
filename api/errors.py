"""What a caller is told when the product fails: enough to act on, and nothing from inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from api.auth.routes import RequestRejected
from config.errors import CopilotError, new_reference

log = structlog.get_logger()


@dataclass(frozen=True)
class Failure:
    status: int
    body: dict[str, Any]


def failure(error: Exception, *, local: bool) -> Failure:
    """The operator at this machine reads what failed; anybody else a reference to the log."""
    known = isinstance(error, CopilotError)
    if known and local:
        return Failure(503, {"detail": str(error)})
    mark = new_reference()
    log.error("a request failed", reference=mark, exc_info=error)
    detail = "this can't be answered just now" if known else "something went wrong"
    return Failure(503 if known else 500, {"detail": detail, "reference": mark})


def add_failures(app: FastAPI) -> None:
    for kind, handler in (
        (RequestRejected, _refused),
        (RequestValidationError, _invalid),
        (HTTPException, _plain),
        (CopilotError, _failed),
        (Exception, _failed),
    ):
        app.add_exception_handler(kind, handler)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRejected)  # noqa: S101 - registered for it alone
    return error.response()


def _failed(request: Request, error: Exception) -> JSONResponse:
    caller = getattr(request.state, "caller", None)
    found = failure(error, local=caller is not None and caller.local)
    return JSONResponse(found.body, found.status)


def _plain(request: Request, error: Exception) -> JSONResponse:
    """Neither the path nor the method comes back."""
    status = getattr(error, "status_code", 500)
    headers = getattr(error, "headers", None)
    return JSONResponse({"detail": getattr(error, "detail", "")}, status, headers)


def _invalid(request: Request, error: Exception) -> JSONResponse:
    """FastAPI's own answer holds the value, and the name of a key that nobody knows."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it alone
    details = [
        {"where": _where(found["loc"], found["type"]), "problem": found["msg"]}
        for found in error.errors()
    ]
    return JSONResponse({"detail": details[:20]}, 422)


def _where(location: Sequence[int | str], kind: str) -> str:
    known = location[:-1] if kind == "extra_forbidden" else location
    return ".".join(str(part) for part in known)
