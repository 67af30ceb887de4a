"""Shared by the commands: options, the wired product, JSON on standard output."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from oncall import Copilot
    from telemetry.logs import LogLevel

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DomainNames = Annotated[
    list[str] | None, typer.Argument(metavar="[DOMAIN]…", help="All domains by default.")
]
DomainName = Annotated[str, typer.Argument(help="Domain, as in its file.", metavar="DOMAIN")]


_M_ARENA_MAX = -8
"""https://man7.org/linux/man-pages/man3/mallopt.3.html"""


def few_arenas(most: int = 2) -> None:
    """To be called before threads begin. The C library of Linux gives each thread memory of its
    own, and keeps what the thread gave back: a runner of jobs with 1,230 MB has 530 MB so, and is
    as fast. Does nothing where there is no such thing."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, most)


def wired(*, at_a_terminal: LogLevel = "info") -> Copilot:
    """The product over this process's settings.

    `at_a_terminal`: from which level on people see its log, where no other is set."""
    from config.settings import read_settings
    from oncall import Copilot

    few_arenas()
    settings = read_settings()
    usual = at_a_terminal if sys.stderr.isatty() else "info"
    return Copilot(settings.model_copy(update={"log_level": settings.log_level or usual}))


def free_port(port: int) -> None:
    """Of --health-port; 0 asks for none. Raises CopilotError where another program listens."""
    import os
    import socket

    from config.errors import CopilotError

    try:
        if port:
            socket.create_server(("0.0.0.0", port)).close()  # noqa: S104 - as it will be listened on
    except OSError as error:
        raise CopilotError(
            f"port {port} can't be listened on: {os.strerror(error.errno or 0)}",
            remedy="use --health-port; 0 does without",
        ) from error


def plain_console(*, stderr: bool = False) -> Console:
    """For tables and lines with words of others: square brackets in them are no markup. In a pipe
    no line is broken."""
    from rich.console import Console

    out = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, markup=False, width=None if out.isatty() else 10_000)


def print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")
