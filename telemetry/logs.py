"""Log lines on standard error: for people on a terminal, else as JSON; the release that runs.

The standard library's loggers write from warnings on, in the same form: below that, clients of
models and of Slack log what they send and receive."""

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
"""What a validation error shows of what it was given: a message, or a model's reply."""
REDACTED = "[hidden]"
FIRST = ("timestamp", "level", "event")
"""What a line begins with."""


def log_to_stderr(
    level: LogLevel = "info", form: LogFormat = "auto", *, secrets: Collection[str] = ()
) -> None:
    """Standard output belongs to answers: a warning must not end up inside someone's JSON.

    Tracebacks are plain: the richer ones print local variables, and a token may be among them.
    `secrets`: what no line may hold, wherever it came from."""
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
        # Looked up at each line: whoever embeds or tests the product may exchange it.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
    root = logging.getLogger()
    if not any(isinstance(handler, ToStructlog) for handler in root.handlers):
        root.addHandler(ToStructlog(logging.WARNING))


def hiding(secrets: Collection[str]) -> Callable[[str], str]:
    """Takes secrets out of a line: the ones that are known, and what has a token's shape."""
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
    """What the standard library's loggers say, in the product's own form."""

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
    """As it was installed; `unknown` where it only lies there."""
    try:
        return version("oncall-copilot")
    except PackageNotFoundError:
        return "unknown"
