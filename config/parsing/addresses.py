"""Addresses in settings."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_HERE = r"http://(?:localhost|127\.0\.0\.1|\[::1\])"
_PUBLIC_URL = re.compile(rf"(?:https://[^\s/?#@:]+|{_HERE})(?::\d{{1,5}})?(?:/[\w.~/-]*)?")


def as_public_url(value: str | None) -> str | None:
    """Without a slash at its end. Raises ValueError."""
    if value and not _PUBLIC_URL.fullmatch(value):
        raise ValueError("write https://HOST, or http://localhost:PORT on this machine")
    return value and value.rstrip("/")


def is_this_machine(url: str) -> bool:
    """Whether only browsers on this machine can open it."""
    return re.match(rf"{_HERE}(?=[:/]|$)", url) is not None


def otlp_endpoint(value: str | None) -> str | None:
    """Raises ValueError."""
    if value and not re.fullmatch(r"https?://[^\s/]+/?", value):
        raise ValueError("write the address of an OTLP collector, as http://collector:4317")
    return value


def password_in(address: object) -> str:
    """Of an address that has one."""
    try:
        return urlsplit(address).password or "" if isinstance(address, str) else ""
    except ValueError:
        return ""
