"""What the commands share: their options, the wired product, JSON on standard output."""

from __future__ import annotations

import json
import sys
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


def wired(*, at_a_terminal: LogLevel = "info") -> Copilot:
    """The product over this process's settings.

    `at_a_terminal`: from which level on people see its log, where no other is set."""
    from config.memory import few_arenas
    from config.settings import read_settings
    from oncall import Copilot

    few_arenas()
    settings = read_settings()
    usual = at_a_terminal if sys.stderr.isatty() else "info"
    return Copilot(settings.model_copy(update={"log_level": settings.log_level or usual}))


def plain_console(*, stderr: bool = False) -> Console:
    """For tables and lines with words of others: square brackets in them are no markup."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False)


def print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")
