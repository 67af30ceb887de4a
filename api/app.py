"""Builds the HTTP API, with its OpenAPI page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse

from agents.answer import Ask
from agents.routing.router import DomainRouter
from agents.thread.memory import ThreadMemory
from api.auth.middleware import AuthMiddleware, RequestLimits
from api.auth.sign_in import SlackSignIn
from api.auth.tokens import LiveTokens
from api.errors import PROBLEMS, add_failures
from api.mcp.server import Lifespan, McpOverHttp
from api.mcp.tools import McpParts
from api.routes.conversations import conversation_routes
from api.routes.pages import PageReaders, document_pages
from api.routes.passages import Retrieve, passage_routes
from api.routes.questions import question_routes
from api.schemas.examples import RESPONSES
from api.scope import RequestScopes
from config.domain import Domain
from index.audit import Audit
from index.permissions.acts import Directory
from index.permissions.rules import IdentitiesOf, by_email
from index.search import Snapshot

NO_TOKENS = LiveTokens(None)
DESCRIPTION = (
    "Answers from a team's documents, with what they cite. The examples are of the demo that "
    "`oncall demo` ingests. Who may use it, and how much of it: docs/http-api.md."
)
_SCRIPT = "swagger-ui-bundle.js"
_STYLE = "swagger-ui.css"
_NO_ICON = "data:,"


def build_api(
    *,
    domains: Mapping[str, Domain] | Callable[[], Mapping[str, Domain]],
    ask: Callable[[str], Ask],
    retrieve: Retrieve,
    snapshot: Callable[[str], Snapshot],
    answering: DomainRouter,
    conversations: Callable[[], ThreadMemory],
    tokens: LiveTokens = NO_TOKENS,
    lifespan: Lifespan | None = None,
    identities: IdentitiesOf = by_email,
    directory: Callable[[], Directory] | None = None,
    audit: Audit | None = None,
    bounds: RequestLimits = RequestLimits(),
    docs: bool = False,
    open_metrics: bool = False,
    sign_in: SlackSignIn | None = None,
) -> FastAPI:
    """Builds the app of `oncall serve`.

    `lifespan` starts and stops with the server. `identities` returns the names by which a
    permission may list an asker. `directory` knows people and their channels; without it people
    may ask only in domains without channels. `audit` records rendered documents. `answering`
    chooses one of several domains and logs each question. `docs` enables /docs and /openapi.json.
    `open_metrics`: /metrics needs no token. `sign_in`: of people who open pages of documents.
    `conversations` reads and erases the stored questions
    of a `conversation_id`.

    Without `tokens` only this machine has access; `api/auth/routes.py` lists the routes."""
    served = RequestScopes(
        current=domains if callable(domains) else lambda: domains,
        identities=identities,
        directory=directory,
        audit=audit,
    )
    parts = McpParts(ask=ask, answering=answering, retrieve=retrieve, snapshot=snapshot)
    mcp = McpOverHttp(served, parts)
    app = Documented(
        title="On-call Copilot",
        lifespan=mcp.with_it(lifespan),
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json" if docs else None,
        swagger_ui_oauth2_redirect_url=None,
        # A redirect would echo the path and the host.
        redirect_slashes=False,
    )
    for about, routes in {
        "Questions": question_routes(served, ask, answering),
        "Passages and documents": passage_routes(served, retrieve, snapshot, answering),
        "Conversations": conversation_routes(served, conversations),
    }.items():
        app.include_router(routes, tags=[about], responses=dict(PROBLEMS))
    readers = PageReaders(sign_in)
    app.include_router(document_pages(served, snapshot, readers))
    app.router.routes.append(mcp.route())
    if docs:
        add_docs_page(app)
    add_failures(app)
    app.add_middleware(
        AuthMiddleware, tokens=tokens, bounds=bounds, open_metrics=open_metrics, readers=readers
    )
    return app


class Documented(FastAPI):
    """Keeps null values in examples: FastAPI drops them from the OpenAPI schema."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            page = super().openapi()
            for operation, examples in RESPONSES.items():
                method, _, path = operation.partition(" ")
                response = page["paths"][path][method.lower()]["responses"]["200"]
                samples = {name: {"value": value} for name, value in examples.items()}
                response["content"]["application/json"]["examples"] = samples
        return super().openapi()


def add_docs_page(app: FastAPI) -> None:
    """Add `/docs`, with script and style from this server. See docs/decisions/122."""
    from fastapi.openapi.docs import get_swagger_ui_html

    bundled = files("fastapi_offline") / "static"

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return get_swagger_ui_html(
            openapi_url="/openapi.json",
            title=app.title,
            swagger_js_url=f"/docs/{_SCRIPT}",
            swagger_css_url=f"/docs/{_STYLE}",
            swagger_favicon_url=_NO_ICON,
            # Otherwise the page sends the schema to Swagger's validator.
            swagger_ui_parameters={"validatorUrl": None},
        )

    @app.get(f"/docs/{_SCRIPT}", include_in_schema=False)
    def script() -> FileResponse:
        return FileResponse(str(bundled / _SCRIPT), media_type="text/javascript")

    @app.get(f"/docs/{_STYLE}", include_in_schema=False)
    def style() -> FileResponse:
        return FileResponse(str(bundled / _STYLE), media_type="text/css")
