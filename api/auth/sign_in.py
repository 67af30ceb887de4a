"""*Sign in with Slack* (OpenID Connect) for the pages of documents, and the session of a browser.

Nothing is stored: cookies and `state` are tokens signed with a key from the app's client secret.
See docs/decisions/147-pages-of-documents.md."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs, quote, urljoin

import jwt
import structlog
from pydantic import SecretStr
from slack_sdk import WebClient
from slack_sdk.errors import SlackClientError
from slack_sdk.oauth import OpenIDConnectAuthorizeUrlGenerator
from starlette.responses import Response

from api.auth.routes import RequestRejected
from api.auth.tokens import Caller
from config.errors import ConfigError
from config.settings import Settings
from index.page_links import PAGE_PATH, SIGNED_IN_PATH, page_query

log = structlog.get_logger()

SESSION_TIME = timedelta(hours=12)
SIGN_IN_TIME = timedelta(minutes=10)
SLACK_SECONDS = 5
MAX_SIGN_INS = 4
"""At once. The server's threads are for people who are signed in."""
MAX_TARGET_CHARS = 1_500
"""Of the page's query in `state`, which stands in Slack's URL."""
ISSUER = "https://slack.com"
_TEAM, _USER = "https://slack.com/team_id", "https://slack.com/user_id"
_ENTERPRISE = "https://slack.com/enterprise_id"
_AGAIN = "open the link again"


@dataclass(frozen=True, kw_only=True)
class SlackSignIn:
    public_url: str
    """Where browsers reach this server."""
    api_url: str
    client_id: str
    client_secret: SecretStr
    _free: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(MAX_SIGN_INS), repr=False
    )

    def caller(self, cookies: Mapping[str, str]) -> Caller | None:
        """The person of a session; None without a valid one."""
        session = self._read(cookies.get(self._name("session"), ""), "session")
        if session is None:
            return None
        return Caller(
            name=session["sub"],
            domains=None,
            slack_user=session["sub"],
            slack_teams=frozenset(session["teams"]),
        )

    def start(self, target: Mapping[str, str], cookies: Mapping[str, str]) -> Response:
        """Redirects to Slack, and from there back to the page of these parameters.

        One cookie binds all sign-ins of a browser, so that several tabs can sign in at once."""
        browser = cookies.get(self._name("browser"), "") or token_urlsafe(32)
        attempt = token_urlsafe(16)
        named = {name: target.get(name, "") for name in ("domain", "id", "at", "part")}
        query = page_query(named.pop("domain"), named.pop("id"), **named)
        state = self._sign(
            "state",
            SIGN_IN_TIME,
            jti=attempt,
            browser=_digest(browser),
            query=query if len(query) <= MAX_TARGET_CHARS else "",
        )
        generator = OpenIDConnectAuthorizeUrlGenerator(
            client_id=self.client_id,
            redirect_uri=self._redirect_uri,
            scopes=["openid"],
            authorization_url=urljoin(self.api_url, "/openid/connect/authorize"),
        )
        response = _redirect(generator.generate(state, _digest(browser, attempt)))
        self._set(response, "browser", browser)
        return response

    def finish(self, parameters: Mapping[str, str], cookies: Mapping[str, str]) -> Response:
        """Redirects to the page, with a session. Raises RequestRejected when the sign-in can't be
        trusted, or Slack refuses."""
        browser = cookies.get(self._name("browser"), "")
        state = self._read(parameters.get("state", ""), "state")
        if state is None or not hmac.compare_digest(state["browser"], _digest(browser)):
            raise RequestRejected(
                400, f"this sign-in is too old, or was begun in another browser; {_AGAIN}"
            )
        if not parameters.get("code"):
            raise RequestRejected(403, f"you did not sign in with Slack; {_AGAIN} to do so")
        if not self._free.acquire(blocking=False):
            raise RequestRejected(503, f"too many people sign in just now; {_AGAIN}", retry_after=2)
        try:
            claims = self._claims(parameters["code"])
        finally:
            self._free.release()
        if not hmac.compare_digest(
            str(claims.get("nonce") or ""), _digest(browser, str(state["jti"]))
        ):
            raise RequestRejected(400, f"this sign-in was begun in another browser; {_AGAIN}")
        teams = [str(claims[name]) for name in (_TEAM, _ENTERPRISE) if claims.get(name)]
        session = self._sign("session", SESSION_TIME, sub=str(claims[_USER]), teams=teams)
        response = _redirect(self.public_url + _page(str(state["query"])))
        self._set(response, "session", session)
        return response

    @property
    def _redirect_uri(self) -> str:
        return self.public_url + SIGNED_IN_PATH

    def _claims(self, code: str) -> Mapping[str, Any]:
        """Of the ID token. Its signature is not checked: it comes from Slack itself, over TLS
        (OpenID Connect Core 3.1.3.7)."""
        web = WebClient(base_url=self.api_url, timeout=SLACK_SECONDS)
        try:
            reply = web.openid_connect_token(
                client_id=self.client_id,
                client_secret=self.client_secret.get_secret_value(),
                code=code,
                redirect_uri=self._redirect_uri,
            )
            return jwt.decode(
                str(reply.get("id_token") or ""),
                audience=self.client_id,
                issuer=ISSUER,
                leeway=60,
                options={
                    "verify_signature": False, "verify_aud": True, "verify_iss": True,
                    "verify_exp": True, "require": ["exp", "nonce", _USER, _TEAM],
                },
            )  # fmt: skip
        except (SlackClientError, OSError, jwt.InvalidTokenError) as error:
            reason = getattr(error, "response", {}).get("error") or type(error).__name__
            log.warning("sign-in with Slack failed", reason=reason)
            raise RequestRejected(502, f"Slack did not confirm the sign-in; {_AGAIN}") from None

    def _sign(self, kind: str, lifetime: timedelta, **claims: Any) -> str:
        expires = {"exp": datetime.now(UTC) + lifetime, "aud": kind}
        return jwt.encode({**claims, **expires}, self._key, algorithm="HS256")

    def _read(self, token: str, kind: str) -> Mapping[str, Any] | None:
        try:
            return jwt.decode(token, self._key, algorithms=["HS256"], audience=kind)
        except jwt.InvalidTokenError:
            return None

    @property
    def _key(self) -> bytes:
        secret = self.client_secret.get_secret_value().encode()
        return hmac.digest(secret, b"oncall: pages of documents", "sha256")

    @property
    def _secure(self) -> bool:
        return self.public_url.startswith("https:")

    def _name(self, kind: str) -> str:
        """With `__Host-`, no other host of the domain can set the cookie."""
        return f"__Host-oncall-{kind}" if self._secure else f"oncall-{kind}"

    def forget(self, response: Response) -> None:
        """Ends the session, so that the next page asks for another account."""
        response.delete_cookie(self._name("session"), secure=self._secure, httponly=True, path="/")

    def _set(self, response: Response, kind: str, value: str) -> None:
        """Until the browser is closed. `Lax`: links in Slack lead here from another site."""
        response.set_cookie(
            self._name(kind), value, secure=self._secure, httponly=True, samesite="lax", path="/"
        )


def open_sign_in(settings: Settings) -> SlackSignIn | None:
    """None when it is not set up. Raises ConfigError when only a part of it is."""
    if not (settings.slack_client_id or settings.slack_client_secret):
        return None
    settings.require(
        slack_client_id="signing in with Slack needs both",
        slack_client_secret="signing in with Slack needs both",  # noqa: S106 - no secret
        slack_bot_token="people who sign in are looked up by it",  # noqa: S106 - no secret
        public_url="Slack sends people who signed in back to it",
    )
    if settings.public_url is None or settings.slack_client_secret is None:
        raise ConfigError("signing in with Slack is not set up")  # `require` has raised
    return SlackSignIn(
        public_url=settings.public_url,
        api_url=settings.slack_api_url,
        client_id=str(settings.slack_client_id),
        client_secret=settings.slack_client_secret,
    )


def _page(query: str) -> str:
    """With the fragment, which got lost on the way to Slack."""
    heading = parse_qs(query).get("at", [""])[0]
    return f"{PAGE_PATH}?{query}" + (f"#{quote(heading)}" if heading else "")


def _redirect(url: str) -> Response:
    return Response(status_code=303, headers={"Location": url})


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()
