"""Shared by all tests: nothing leaves this machine, and no setting leaks in from outside."""

from __future__ import annotations

import gc
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import structlog
from hypothesis import HealthCheck, settings

from config import minilm
from config.servers.capabilities import RECORDS
from tests.chromium import CHROMIUM
from tests.databases import close_shared_server
from tests.local_model import loaded_once

# jsonschema would build a grammar of addresses with it, for a second in each process.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")  # noqa: S104 - compared, never bound
ROOT = Path(__file__).parents[1]
LONG = ("browser", "kill", "outage", "trial")

# The same examples each time, and no clock: what fails here fails everywhere. The long versions
# (ONCALL_THOROUGH=1) look for new ones.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize="ONCALL_THOROUGH" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two to a core, up to eight: half of the time a test waits for a socket or a process."""
    return min(2 * minilm.threads(), 8)


@pytest.hookimpl
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHROMIUM is None:
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason="no chromium on this machine"))
    # Each module is one process's, in its order. The long ones first, or the others wait for them.
    long = {item.path for item in items if any(map(item.get_closest_marker, LONG))}
    items.sort(key=lambda item: item.path not in long)


@pytest.hookimpl
def pytest_collection_finish() -> None:
    """What was imported stays, so no later collection of garbage looks at it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl
def pytest_sessionfinish() -> None:
    close_shared_server()


@pytest.fixture(autouse=True, scope="session")
def _loopback_only() -> Iterator[None]:
    """Any connection beyond this machine fails the test that made it."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def check(address: Any) -> None:
        if isinstance(address, tuple) and not str(address[0]).startswith(LOOPBACK):
            raise AssertionError(f"a test tried to reach {address!r}")

    def guarded(self: socket.socket, address: Any) -> None:
        check(address)
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        check(address)
        return connect_ex(self, address)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", guarded)
    patch.setattr(socket.socket, "connect_ex", guarded_ex)
    yield
    patch.undo()


OURS = (
    "ANTHROPIC_", "AZURE_", "CHROMA_", "DATABASE_", "GOOGLE_", "LANGCHAIN_", "LANGSMITH_",
    "OLLAMA_", "ONCALL_", "OPENAI_", "OTEL_", "SLACK_",
)  # fmt: skip
KEPT = {"ONCALL_SHARED_DIR", "ONCALL_THOROUGH"}


@pytest.fixture(autouse=True, scope="session")
def _clean_environment() -> Iterator[None]:
    """A developer's own keys and folders never reach a test."""
    with patch.dict(os.environ):
        for name in list(os.environ):
            if name.startswith(OURS) and name not in KEPT:
                del os.environ[name]
        yield


@pytest.fixture(autouse=True)
def _same_environment(_clean_environment: None) -> Iterator[None]:
    """What a test or the product sets in it is gone after the test."""
    with patch.dict(os.environ):
        yield


@pytest.fixture(autouse=True)
def _unknown_servers() -> None:
    """What one test learnt of a server is no knowledge of the next one at its port."""
    RECORDS.clear()


@pytest.fixture(autouse=True, scope="session")
def _plain_tracebacks() -> Iterator[None]:
    """Tracebacks with variables take seconds to draw."""
    before = structlog.get_config()
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*before["processors"][:-1], plain])
    yield
    structlog.configure(**before)


@pytest.fixture(autouse=True, scope="module")
def _same_logs(_plain_tracebacks: None) -> Iterator[None]:
    """How quiet a command is doesn't outlast the tests of it: others read what is logged."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture(autouse=True, scope="session")
def _one_local_model(pytestconfig: pytest.Config) -> Iterator[None]:
    with loaded_once(pytestconfig.rootpath / ".pytest_cache" / "vectors.sqlite"):
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """Public documents and captures to test with; a clone without them skips."""
    folder = Path(os.environ.get("ONCALL_SHARED_DIR", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no {folder}; set ONCALL_SHARED_DIR")
    return folder
