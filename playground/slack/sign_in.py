"""*Sign in with Slack*: OpenID Connect's consent, codes and ID tokens.

Whoever `person` names has consented already, so the browser is sent back at once."""

from __future__ import annotations

import base64
import json
import secrets
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from playground.slack import tidewater
from playground.slack.workspace import Json, Workspace

ID_TOKEN_SECONDS = 300


class SignIn:
    def __init__(self, workspace: Workspace) -> None:
        self.client_id = "1111.2222"
        self.client_secret = secrets.token_hex(16)
        self.redirect_uris: list[str] = []
        """Registered for the app."""
        self.person = tidewater.YOU
        """Who sits at the browser; empty: somebody who declines."""
        self.claims: dict[str, Any] = {}
        """Override those of the next ID tokens."""
        self._workspace = workspace
        self._codes: dict[str, dict[str, str]] = {}

    async def authorize(self, request: Request) -> Response:
        """`/openid/connect/authorize`, in the browser."""
        asked = request.query_params
        known = asked.get("redirect_uri") in self.redirect_uris
        if asked.get("client_id") != self.client_id or not known:
            return PlainTextResponse("bad_redirect_uri", 400)
        if asked.get("response_type") != "code" or "openid" not in asked.get("scope", ""):
            return PlainTextResponse("invalid_scope", 400)
        reply = {"state": asked.get("state", "")}
        if self.person:
            code = secrets.token_hex(16)
            self._codes[code] = {
                "user": self.person,
                "nonce": asked.get("nonce", ""),
                "redirect_uri": asked["redirect_uri"],
            }
            reply["code"] = code
        else:
            reply["error"] = "access_denied"
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(reply)}", 302)

    async def token(self, request: Request) -> Response:
        """`openid.connect.token`, from the app; a code is good once."""
        form = await request.form()
        basic = f"{self.client_id}:{self.client_secret}".encode()
        if request.headers.get("authorization") != f"Basic {base64.b64encode(basic).decode()}":
            return JSONResponse({"ok": False, "error": "bad_client_secret"})
        consent = self._codes.pop(str(form.get("code")), None)
        if consent is None or consent["redirect_uri"] != form.get("redirect_uri"):
            return JSONResponse({"ok": False, "error": "invalid_code"})
        token = {"ok": True, "access_token": "xoxp-1", "token_type": "Bearer"}
        return JSONResponse({**token, "id_token": self._id_token(consent)})

    def _id_token(self, consent: dict[str, str]) -> str:
        now, person = int(self._workspace.clock()), self._workspace.people[consent["user"]]
        claims: Json = {
            "iss": "https://slack.com",
            "sub": person.id,
            "aud": self.client_id,
            "iat": now,
            "exp": now + ID_TOKEN_SECONDS,
            "nonce": consent["nonce"],
            "https://slack.com/user_id": person.id,
            "https://slack.com/team_id": person.team_id,
            **self.claims,
        }
        parts = {"alg": "RS256", "typ": "JWT"}, claims
        head, body = (_encoded(json.dumps(part).encode()) for part in parts)
        return f"{head}.{body}.{_encoded(b'signed by Slack')}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
