"""The guard of every route, and the rejection of a request. A test checks that every route of the
app has a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from starlette.responses import JSONResponse

from index.page_links import PAGE_PATH, SIGNED_IN_PATH
from index.permissions.acts import Act

Guard = Literal["nobody", "caller", "reader", "metrics", "slack"]
"""nobody: open. caller: a token, or this machine. reader: a caller, or who signed in with Slack in
this browser. metrics: a caller with access to metrics. slack: Slack's signature."""

API_BODY = 256_000
SLACK_BODY = 2_000_000


@dataclass(frozen=True)
class HttpDoor:
    method: str
    path: str
    """The route's path, with its parameters in braces."""
    guard: Guard
    acts: tuple[Act, ...] = ()
    """What it does in domains, where the token's domains and the person's rights apply."""
    max_body: int = API_BODY


DOORS = (
    HttpDoor("POST", "/api/agentic_qna", "caller", (Act.API_ASK,)),
    HttpDoor("POST", "/api/agentiqna", "caller", (Act.API_ASK,)),
    HttpDoor("POST", "/api/retrieve", "caller", (Act.API_RETRIEVE,)),
    HttpDoor("GET", "/api/documents", "caller", (Act.API_DOCUMENTS,)),
    HttpDoor("GET", "/api/documents/{document_id}/summary", "caller", (Act.API_SUMMARY,)),
    HttpDoor("GET", "/api/documents/{document_id}/citations", "caller", (Act.API_CITATIONS,)),
    HttpDoor("GET", "/api/entities", "caller", (Act.API_ENTITIES,)),
    HttpDoor("GET", "/api/conversations/{conversation_id}", "caller", (Act.CONVERSATION_READ,)),
    HttpDoor("DELETE", "/api/conversations/{conversation_id}", "caller", (Act.CONVERSATION_ERASE,)),
    HttpDoor("POST", "/mcp", "caller", (Act.MCP_ASK, Act.MCP_RETRIEVE, Act.MCP_DOCUMENT)),
    HttpDoor("GET", PAGE_PATH, "reader", (Act.PAGE,)),
    HttpDoor("GET", SIGNED_IN_PATH, "nobody"),
    HttpDoor("GET", "/docs", "caller"),
    HttpDoor("GET", "/docs/swagger-ui-bundle.js", "caller"),
    HttpDoor("GET", "/docs/swagger-ui.css", "caller"),
    HttpDoor("GET", "/openapi.json", "caller"),
    HttpDoor("GET", "/metrics", "metrics"),
    HttpDoor("GET", "/healthz", "nobody"),
    HttpDoor("GET", "/readyz", "nobody"),
    HttpDoor("POST", "/slack/events", "slack", max_body=SLACK_BODY),
)

_EXACT: Mapping[tuple[str, str], HttpDoor] = {(door.method, door.path): door for door in DOORS}
_UNKNOWN = HttpDoor("", "", "caller")


def door_at(method: str, path: str) -> HttpDoor:
    """Returns the row of a request, by exact method and path; HEAD counts as GET.

    Other requests, also for paths with parameters, are for callers only."""
    return _EXACT.get(("GET" if method == "HEAD" else method, path), _UNKNOWN)


class RequestRejected(Exception):
    def __init__(self, status: int, detail: str, *, retry_after: int = 0) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.retry_after = retry_after

    def response(self) -> JSONResponse:
        headers: Mapping[str, str] = {}
        if self.status == 401:
            headers = {"WWW-Authenticate": "Bearer"}
        elif self.retry_after:
            headers = {"Retry-After": str(self.retry_after)}
        return JSONResponse({"detail": self.detail}, self.status, headers)


class NotIdentified(RequestRejected):
    """Nothing says who the caller is: in a browser, they may sign in."""
