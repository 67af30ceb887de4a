"""Where logs go."""

from __future__ import annotations

import sys


def log_to_stderr() -> None:
    """Standard output belongs to answers: a warning must not end up inside someone's JSON.

    Tracebacks are plain: the richer ones print local variables, and a token may be among them."""
    import structlog

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.StackInfoRenderer(),
            structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False),
            structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
        ],
        # Looked up at each line: whoever embeds or tests the product may exchange it.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
