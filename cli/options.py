"""Shared by the commands: options, the wired product, JSON on standard output."""

from __future__ import annotations

import json
import os
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
AnyDomain = Annotated[str, typer.Argument(metavar="[DOMAIN]", help="All domains by default.")]
OneDomain = Annotated[str, typer.Option(help="One domain only.")]
WithJudge = Annotated[
    bool, typer.Option("--judge", help="Let a model score each answer from 0 to 5.")
]
DomainName = Annotated[str, typer.Argument(help="Domain, as in its file.", metavar="DOMAIN")]


_M_ARENA_MAX = -8
"""https://man7.org/linux/man-pages/man3/mallopt.3.html"""


def few_arenas() -> None:
    """Limit the memory arenas of glibc to two. Must be called before threads start.

    glibc gives each thread its own arena and does not return freed memory to the system. A job
    runner of 1,230 MB needs 530 MB with this limit, at the same speed. No effect without glibc."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def wired(*, at_a_terminal: LogLevel = "info") -> Copilot:
    """Builds the product from this process's settings.

    `at_a_terminal`: default log level if standard error is a terminal."""
    from config.settings import read_settings
    from oncall import Copilot

    few_arenas()
    settings = read_settings()
    usual = at_a_terminal if sys.stderr.isatty() else "info"
    return Copilot(settings.model_copy(update={"log_level": settings.log_level or usual}))


def free_port(port: int) -> None:
    """Check the port of --health-port; 0 is none. Raises CopilotError if it is in use."""
    import socket

    from config.errors import CopilotError

    try:
        if port:
            socket.create_server(("0.0.0.0", port)).close()  # noqa: S104 - as the health server
    except OSError as error:
        raise CopilotError(
            f"port {port} can't be listened on: {os.strerror(error.errno or 0)}",
            remedy="use --health-port; 0 does without",
        ) from error


def plain_console(*, stderr: bool = False) -> Console:
    """For untrusted text: square brackets are not markup. Lines are not wrapped in a pipe."""
    from rich.console import Console

    out = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, markup=False, width=None if out.isatty() else 10_000)


def print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")
