"""A service account's key, and the token endpoint that believes only what it signed."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

from playground.google.google_faults import ApiError

ACCOUNT = "oncall-copilot@tidewater-demo.iam.gserviceaccount.com"
READ_SCOPES = frozenset(
    f"https://www.googleapis.com/auth/{name}"
    for name in ("drive", "drive.readonly", "documents", "documents.readonly")
)
DRIVE_SCOPES = frozenset(scope for scope in READ_SCOPES if "/drive" in scope)
WRITE_SCOPES = frozenset({"https://www.googleapis.com/auth/drive"})
"""`drive.file` reaches only what an app made itself."""
GROUP_SCOPES = frozenset(
    f"https://www.googleapis.com/auth/admin.directory.{name}"
    for name in ("group", "group.readonly", "group.member", "group.member.readonly")
)
KEY_ID = "playground"
GOOGLE_AUDIENCE = "https://oauth2.googleapis.com/token"
"""What google-auth writes into every assertion, whichever token endpoint it goes to."""


@cache
def account_key() -> rsa.RSAPrivateKey:
    """The account's key, made anew in every process."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class TokenError(Exception):
    """The token endpoint's refusal, as OAuth words it."""

    def __init__(self, error: str, description: str) -> None:
        self.body = {"error": error, "error_description": description}
        super().__init__(f"{error}: {description}")


@dataclass
class Tokens:
    """Issues bearer tokens for assertions signed by the account's key."""

    token_uri: str
    lifetime: float = 3600.0
    """Seconds until a token expires."""
    delegates: Collection[str] = ()
    """Users whom the service account may act for."""
    clock: Callable[[], float] = time.time
    _issued: dict[str, tuple[float, frozenset[str], str]] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write_credentials(self, path: Path) -> Path:
        """A service account key file, readable only by its owner."""
        private = account_key().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        info = {
            "type": "service_account",
            "project_id": "tidewater-demo",
            "private_key_id": KEY_ID,
            "private_key": private.decode(),
            "client_email": ACCOUNT,
            "client_id": "100000000000000000001",
            "token_uri": self.token_uri,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.chmod(0o600)
        path.write_text(json.dumps(info, indent=2), encoding="utf-8")
        return path

    def issue(self, assertion: str) -> dict[str, Any]:
        """A token for a signed assertion. Raises TokenError."""
        public = (
            account_key()
            .public_key()
            .public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
        try:
            claims = jwt.decode(  # type: ignore[no-untyped-call] # google-auth has no types here
                assertion, certs=public, audience=[GOOGLE_AUDIENCE, self.token_uri]
            )
        except (ValueError, TypeError) as error:
            raise TokenError("invalid_grant", f"Invalid JWT: {error}") from error
        if claims.get("iss") != ACCOUNT:
            raise TokenError("invalid_grant", "Not a known service account.")
        if (subject := claims.get("sub", ACCOUNT)) not in {ACCOUNT, *self.delegates}:
            raise TokenError(
                "unauthorized_client",
                "Client is unauthorized to retrieve access tokens using this method, "
                f"or client not authorized for any of the scopes requested, for {subject}.",
            )
        scopes = frozenset(str(claims.get("scope", "")).split())
        if not scopes:
            raise TokenError("invalid_scope", "Empty or missing scope not allowed.")
        token = "ya29." + secrets.token_urlsafe(32)
        with self._lock:
            self._issued[token] = (self.clock() + self.lifetime, scopes, str(subject))
        return {"access_token": token, "expires_in": int(self.lifetime), "token_type": "Bearer"}

    def check(self, authorization: str, allowed: Collection[str]) -> str:
        """Whom the token acts for. Raises ApiError 401 without a live token, 403 when its scopes do
        not reach this far."""
        scheme, _, token = authorization.partition(" ")
        with self._lock:
            expires, scopes, subject = self._issued.get(token, (0.0, frozenset(), ""))
        if scheme != "Bearer" or expires <= self.clock():
            raise ApiError(401, "authError")
        if not scopes & set(allowed):
            message = "Request had insufficient authentication scopes."
            raise ApiError(403, "insufficientPermissions", message)
        return subject

    def expire_all(self) -> None:
        """Forget every token that was issued."""
        with self._lock:
            self._issued.clear()
