"""Shared by all tests: nothing leaves this machine, and no setting leaks in from outside."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")  # noqa: S104 - compared, never bound
ROOT = Path(__file__).parents[1]

# The same examples each time, and no clock: what fails here fails everywhere. The long versions
# (ONCALL_THOROUGH=1) look for new ones.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize="ONCALL_THOROUGH" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")


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


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own keys and folders never reach a test."""
    for name in list(os.environ):
        if name.startswith(("SLACK_", "OPENAI_", "ONCALL_", "GOOGLE_", "LANGSMITH_", "LANGCHAIN_")):
            if name in {"ONCALL_SHARED_DIR", "ONCALL_THOROUGH"}:
                continue
            monkeypatch.delenv(name)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("CHROMA_URL", raising=False)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Public documents and captures to test with; a clone without them skips."""
    folder = Path(os.environ.get("ONCALL_SHARED_DIR", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no {folder}; set ONCALL_SHARED_DIR")
    return folder
