"""Which addresses an answer may open. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import quote

_WEB = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::(?P<port>\d{1,5}))?"
    r"(?P<rest>(?:[/?#].*)?)",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"[\x00-\x1f\x7f-\x9f\\\u2028\u2029]|%(?![0-9a-f]{2})", re.IGNORECASE)
"""Browsers drop, turn round or guess at these, each in its own way."""
_KEPT = "/?#[]@!$&'()*+,;=:%-._~"


@dataclass(frozen=True, kw_only=True)
class Links:
    """What an answer may link to."""

    urls: frozenset[str] = frozenset()
    """Exactly these: the answer's citations."""
    hosts: frozenset[str] = frozenset()
    """And anything on these hosts or below them."""

    def allow(self, url: str) -> bool:
        if not is_web(url):
            return False
        host = host_of(url)
        return url in self.urls or any(
            host == known or host.endswith(f".{known}") for known in self.hosts
        )


def links_to(urls: Collection[str], hosts: Collection[str] = ()) -> Links:
    return Links(
        urls=frozenset(form for url in urls if is_web(url) for form in (url, written(url))),
        hosts=frozenset(host.lower().strip(". ") for host in hosts if host.strip(". ")),
    )


def is_web(url: str) -> bool:
    """Whether every parser reads the same host from it, and the web is what it opens.

    The host is plain ASCII, without a user, an escape or a trailing dot; RFC 3986 would take
    more, and WHATWG's browsers repair more, which is where a reader and a check part ways."""
    found = _WEB.fullmatch(url)
    if not found or _REFUSED.search(url) or ".." in found["host"]:
        return False
    return not found["port"] or 0 < int(found["port"]) < 65_536


def host_of(url: str) -> str:
    found = _WEB.fullmatch(url)
    return found["host"].lower() if found else ""


def written(url: str) -> str:
    """A web address as it may stand in a link: what could end it early is percent-encoded."""
    found = _WEB.fullmatch(url)
    if not found:
        return ""
    rest = quote(found["rest"], safe=_KEPT)
    return url[: found.start("rest")] + rest
