"""The HTTP API: the same agents through another door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from fastapi import FastAPI

from agents.answer import Ask
from agents.routing.router import DomainRouter
from api.auth.limits import RequestLimits
from api.auth.middleware import AuthMiddleware
from api.auth.tokens import LiveTokens
from api.docs_page import DESCRIPTION, Documented, add_docs_page
from api.errors import add_failures
from api.mcp.server import McpOverHttp
from api.mcp.tools import McpParts
from api.routes.conversations import KeptConversations, NothingKept, conversation_routes
from api.routes.passages import Retrieve, passage_routes
from api.routes.questions import question_routes
from api.schemas.problems import PROBLEMS
from api.scope import MayAsk, RequestScopes
from config.domain import Domain
from index.audit import Audit
from index.permissions.rules import IdentitiesOf, by_email
from index.search import Snapshot

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]
NO_TOKENS = LiveTokens(None)


def build_api(
    *,
    domains: Mapping[str, Domain] | Callable[[], Mapping[str, Domain]],
    ask: Callable[[str], Ask],
    retrieve: Retrieve,
    snapshot: Callable[[str], Snapshot],
    tokens: LiveTokens = NO_TOKENS,
    lifespan: Lifespan | None = None,
    identities: IdentitiesOf = by_email,
    may_ask: MayAsk | None = None,
    audit: Audit | None = None,
    bounds: RequestLimits = RequestLimits(),
    docs: bool = False,
    open_metrics: bool = False,
    answering: DomainRouter | None = None,
    conversations: Callable[[], KeptConversations] = NothingKept,
) -> FastAPI:
    """The app of `oncall serve`. `lifespan`: what starts and stops with the server.
    `identities`: what a permission may name an asker by. `may_ask`: whether a person who is named
    by e-mail may ask in a domain; without it, only where a domain has no channels.
    `audit`: records what is shown.
    `answering`: how one of several domains is chosen, and what the log is told.
    `docs`: /docs and /openapi.json are there. `open_metrics`: /metrics needs no token.
    `conversations`: what is kept under a `conversation_id`.

    Without `tokens` only this machine comes in; `api/auth/routes.py` says by which doors."""
    served = RequestScopes(
        current=domains if callable(domains) else lambda: domains,
        identities=identities,
        may_ask=may_ask,
        audit=audit,
    )
    answers = answering or DomainRouter(snapshot=snapshot)
    parts = McpParts(ask=ask, answering=answers, retrieve=retrieve, snapshot=snapshot)
    mcp = McpOverHttp(served, parts)
    app = Documented(
        title="On-call Copilot",
        lifespan=mcp.with_it(lifespan),
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json" if docs else None,
        swagger_ui_oauth2_redirect_url=None,
        # A redirect would say the path and the host back.
        redirect_slashes=False,
    )
    for about, routes in {
        "Questions": question_routes(served, ask, answers),
        "Passages and documents": passage_routes(served, retrieve, snapshot),
        "Conversations": conversation_routes(served, conversations),
    }.items():
        app.include_router(routes, tags=[about], responses=dict(PROBLEMS))
    app.router.routes.append(mcp.route())
    if docs:
        add_docs_page(app)
    add_failures(app)
    app.add_middleware(AuthMiddleware, tokens=tokens, bounds=bounds, open_metrics=open_metrics)
    return app
