"""Who may use the API."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from fastapi import HTTPException, Request
from pydantic import SecretStr

LOOPBACK = {"127.0.0.1", "::1", "localhost", "testclient"}


def guard(token: SecretStr | None) -> Callable[[Request], None]:
    """A dependency that lets in whoever bears the token; without one, only this machine."""

    def check(request: Request) -> None:
        if token is None:
            host = request.client.host if request.client else ""
            if host not in LOOPBACK or "x-forwarded-for" in request.headers:
                raise HTTPException(401, "set ONCALL_API_TOKEN to use the API from elsewhere")
            return
        given = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not hmac.compare_digest(given.encode(), token.get_secret_value().encode()):
            raise HTTPException(401, "the bearer token is missing or wrong")

    return check
