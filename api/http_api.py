"""The HTTP API: the same agents through another door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

import structlog
from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import SecretStr

from agents.answer import Ask
from api.bearer import guard
from api.passages import Retrieve, passage_routes
from api.questions import question_routes
from api.served import Served
from config.domain import Domain
from config.errors import CopilotError, UsageError, new_reference
from index.audit import Audit
from index.readers import IdentitiesOf, by_email
from index.search import Snapshot

log = structlog.get_logger()

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def build_api(
    *,
    domains: Mapping[str, Domain] | Callable[[], Mapping[str, Domain]],
    ask: Callable[[str], Ask],
    retrieve: Retrieve,
    snapshot: Callable[[str], Snapshot],
    token: SecretStr | None = None,
    lifespan: Lifespan | None = None,
    identities: IdentitiesOf = by_email,
    audit: Audit | None = None,
) -> FastAPI:
    """The app of `oncall serve`. `lifespan`: what starts and stops with the server.
    `identities`: what a permission may name an asker by. `audit`: records what is shown.

    Without `token` only this machine may use `/api`."""
    app = FastAPI(title="On-call Copilot", lifespan=lifespan)
    served = Served(domains if callable(domains) else lambda: domains, identities, audit)
    allowed = [Depends(guard(token))]
    app.include_router(question_routes(served, ask), dependencies=allowed)
    app.include_router(passage_routes(served, retrieve, snapshot), dependencies=allowed)
    app.add_exception_handler(CopilotError, _refusal)
    app.add_exception_handler(Exception, _apology)
    return app


def _refusal(request: Request, error: Exception) -> JSONResponse:
    status = 422 if isinstance(error, UsageError) else 503
    return JSONResponse({"detail": str(error)}, status)


def _apology(request: Request, error: Exception) -> JSONResponse:
    mark = new_reference()
    log.error("request failed", reference=mark, path=request.url.path, exc_info=error)
    return JSONResponse({"detail": "something went wrong", "reference": mark}, 500)
