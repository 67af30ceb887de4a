"""Log lines on standard error: readable on a terminal, otherwise JSON. Also the product's version.

The standard library's loggers write warnings and above in the same form. Below that level the
clients of models and Slack log what they send and receive."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Collection
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["auto", "console", "json"]

_PASSWORD_IN_ADDRESS = re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)")
_TOKEN_SHAPES = re.compile(r"\b(xox[a-z]|xapp|xoxe\.xox[bp])-[\w-]{8,}|\bsk-[\w-]{16,}")
_PYDANTIC_INPUT = re.compile(r"input_value=.*?, input_type=", re.DOTALL)
"""The input that a validation error quotes: a message, or a model's reply."""
REDACTED = "[hidden]"
FIRST = ("timestamp", "level", "event")
"""The first fields of a line."""


def log_to_stderr(
    level: LogLevel = "info", form: LogFormat = "auto", *, secrets: Collection[str] = ()
) -> None:
    """Standard output belongs to answers: a warning must not end up inside someone's JSON.

    Tracebacks are plain: rich ones print local variables, which may hold a token.
    `secrets`: values that are redacted from every line."""
    import structlog

    terminal = sys.stderr.isatty()
    hide = hiding(secrets)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.StackInfoRenderer(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *_rendering(as_json=form == "json" or (form == "auto" and not terminal), hide=hide),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # Resolved for each line: an embedding program or a test may replace sys.stderr.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
    root = logging.getLogger()
    if not any(isinstance(handler, ToStructlog) for handler in root.handlers):
        root.addHandler(ToStructlog(logging.WARNING))


def hiding(secrets: Collection[str]) -> Callable[[str], str]:
    """Returns a function that redacts a line: these secrets, passwords in URLs, token-like text."""
    forms = {form for one in secrets for form in (one, json.dumps(one)[1:-1])}
    longest_first = sorted(forms, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def hide(line: str) -> str:
        line = pattern.sub(REDACTED, line) if pattern else line
        line = _PASSWORD_IN_ADDRESS.sub(rf"\1{REDACTED}", line)
        line = _TOKEN_SHAPES.sub(REDACTED, line)
        return _PYDANTIC_INPUT.sub(f"input_value={REDACTED}, input_type=", line)

    return hide


class ToStructlog(logging.Handler):
    """Forwards records of the standard library's loggers to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        import structlog

        structlog.get_logger().log(
            record.levelno, record.getMessage(), logger=record.name, exc_info=record.exc_info
        )


def _rendering(*, as_json: bool, hide: Callable[[str], str]) -> list[Any]:
    import structlog

    render: Any
    if as_json:
        render = structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
        before = [structlog.processors.format_exc_info]
    else:
        render = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty() and not os.environ.get("NO_COLOR"),
            exception_formatter=structlog.dev.plain_traceback,
        )
        before = []

    def rendered(logger: Any, method: str, event: Any) -> str:
        first = {key: event.pop(key) for key in FIRST if key in event}
        return hide(str(render(logger, method, {**first, **event})))

    return [*before, rendered]


@cache
def product_version() -> str:
    """The installed version; `unknown` when the package is not installed."""
    try:
        return version("oncall-copilot")
    except PackageNotFoundError:
        return "unknown"
