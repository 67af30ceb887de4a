"""Logs as the product writes them: tracebacks with variables take seconds to draw."""

from __future__ import annotations

import pytest
import structlog


@pytest.fixture(autouse=True)
def _plain_tracebacks() -> None:
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[structlog.processors.add_log_level, plain])
