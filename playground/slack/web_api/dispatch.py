"""The Web API over HTTP: tokens, bodies, rate limits and faults around the methods."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from playground.slack.slack_faults import RateLimits, SlackFault, SlackFaults
from playground.slack.web_api import chat_methods as slack_api_chat
from playground.slack.web_api import conversation_methods as slack_api_conversations
from playground.slack.web_api import people_methods as slack_api_people
from playground.slack.web_api import search_methods as slack_api_search
from playground.slack.web_api import stream_methods as slack_api_streams
from playground.slack.web_api.call import Call, Method
from playground.slack.workspace import SlackError, Workspace

SCOPES = frozenset(
    (
        *("app_mentions:read", "assistant:write", "channels:history", "channels:read"),
        *("chat:write", "commands", "groups:history", "groups:read", "im:history", "im:write"),
        *("links:read", "links:write", "reactions:read", "reactions:write"),
        *("search:read.public", "usergroups:read", "users:read"),
        "users:read.email",
        "files:read",
    )
)
MAX_BODY = 2_000_000
NEEDS_NO_TOKEN = {"api.test"}
APP_TOKEN_METHODS = {"apps.connections.open"}


def drop_connection(request: Request) -> None:
    """Close the socket without an answer.

    ASGI has no word for it, so this reaches for the transport of uvicorn's request."""
    send: Any = request.scope["playground.send"]
    send.__self__.transport.abort()


@dataclass
class WebApi:
    workspace: Workspace
    faults: SlackFaults
    limits: RateLimits
    bot_token: str = field(repr=False)
    app_token: str = field(repr=False)
    methods: dict[str, Method] = field(default_factory=dict)
    enforce_rate_limits: bool = True
    scopes: frozenset[str] = SCOPES
    """Of the bot's token."""
    revoked: set[str] = field(default_factory=set, repr=False)
    """Tokens that were good once."""
    calls: deque[str] = field(default_factory=lambda: deque(maxlen=10_000))
    """Names of the methods called last, in order; for tests."""

    def __post_init__(self) -> None:
        for module in (
            slack_api_people,
            slack_api_conversations,
            slack_api_chat,
            slack_api_streams,
            slack_api_search,
        ):
            self.methods |= module.METHODS

    async def handle(self, request: Request) -> Response:
        method = request.path_params["method"]
        self.calls.append(method)
        fault = self.faults.take(method) or SlackFault(method)
        await asyncio.sleep(fault.delay)
        if fault.drop:
            drop_connection(request)
            return Response(status_code=503)
        if fault.status or fault.error:
            return _broken(fault)
        arguments = await _arguments(request)
        response = self._answer(method, request, arguments)
        if fault.drop_response:
            drop_connection(request)
        return response

    def _answer(
        self, method: str, request: Request, arguments: Mapping[str, Any] | None
    ) -> Response:
        try:
            if arguments is None:
                raise SlackError("invalid_json")
            if method not in self.methods:
                raise SlackError("unknown_method")
            self._authorize(method, request, arguments)
            channel = str(arguments.get("channel", ""))
            if self.enforce_rate_limits and (wait := self.limits.wait(method, channel)):
                return _rate_limited(wait)
            with self.workspace.changed:
                site = str(request.base_url).rstrip("/")
                call = Call(self.workspace, {**arguments, "site": site}, self.scopes)
                result = self.methods[method](call)
        except SlackError as error:
            return self._json(_refused(error))
        return self._json({"ok": True, **result})

    def _json(self, content: Mapping[str, Any]) -> JSONResponse:
        return _json(content, x_oauth_scopes=",".join(sorted(self.scopes)))

    def _authorize(self, method: str, request: Request, arguments: Mapping[str, Any]) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else str(arguments.get("token", ""))
        if method in NEEDS_NO_TOKEN:
            return
        if not token:
            raise SlackError("not_authed")
        if token in self.revoked:
            raise SlackError("token_revoked")
        if token not in (self.bot_token, self.app_token):
            raise SlackError("invalid_auth")
        wanted = self.app_token if method in APP_TOKEN_METHODS else self.bot_token
        if token != wanted and method != "auth.test":
            raise SlackError("not_allowed_token_type")


async def _arguments(request: Request) -> dict[str, Any] | None:
    """Query, form or JSON; None when the body can't be read."""
    arguments: dict[str, Any] = dict(request.query_params)
    body = await request.body()
    if len(body) > MAX_BODY:
        return None
    if "json" in request.headers.get("content-type", ""):
        try:
            parsed = json.loads(body or b"{}")
        except ValueError:
            return None
        return {**arguments, **parsed} if isinstance(parsed, dict) else None
    return arguments | dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def _json(content: Mapping[str, Any], status: int = 200, **headers: str) -> JSONResponse:
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return JSONResponse(content, status, headers)


def _refused(error: SlackError) -> dict[str, Any]:
    content: dict[str, Any] = {"ok": False, "error": error.code, **error.details}
    if error.messages:
        content["response_metadata"] = {"messages": error.messages}
        if error.code == "invalid_blocks":
            content["errors"] = [m.removeprefix("[ERROR] ") for m in error.messages]
    return content


def _rate_limited(seconds: int) -> JSONResponse:
    return _json({"ok": False, "error": "ratelimited"}, 429, retry_after=str(seconds))


def _broken(fault: SlackFault) -> Response:
    if fault.status == 429:
        return _rate_limited(fault.retry_after)
    if fault.error:
        return _json({"ok": False, "error": fault.error}, fault.status or 200)
    return Response("Something went wrong on the playground's side.", fault.status)
