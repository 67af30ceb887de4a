"""Pages without script: rendered by templates, and sent with headers that allow nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

TITLES = {
    400: "The sign-in failed",
    401: "Sign-in needed",
    403: "Not open to you",
    404: "No such document",
    429: "Too many requests",
    502: "The sign-in failed",
    503: "Not available just now",
}


def page(template: str, status: int = 200, /, **values: Any) -> HTMLResponse:
    """`values`: of the template, escaped."""
    html = _templates().get_template(template).render(style=_style(), **values)
    return HTMLResponse(html, status, headers=_headers())


def notice(status: int, text: str, *, retry_after: int = 0) -> HTMLResponse:
    title = TITLES.get(status, "This can't be shown")
    response = page("notice.html", status, title=title, text=text[:1].upper() + text[1:])
    if retry_after:
        response.headers["Retry-After"] = str(retry_after)
    return response


@cache
def _headers() -> dict[str, str]:
    """The style is the page's only resource, named by its hash; `data:` is the empty icon, without
    which browsers ask for one."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    policy = (
        "default-src 'none'", f"style-src 'sha256-{digest}'", "img-src data:", "base-uri 'none'",
        "form-action 'none'", "frame-ancestors 'none'",
    )  # fmt: skip
    return {
        "Content-Security-Policy": "; ".join(policy),
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "X-Robots-Tag": "noindex, noarchive",
    }


@cache
def _style() -> str:
    return (files("api.pages") / "assets" / "page.css").read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("api.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
