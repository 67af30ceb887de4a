"""Golden questions: checked, imported, proposed."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.options import wired

app = typer.Typer()
golden_app = typer.Typer(no_args_is_help=True, help="Golden questions.")
app.add_typer(golden_app, name="golden")


@golden_app.command("propose")
def golden_propose(
    domain: Annotated[str | None, typer.Option(help="One domain only.")] = None,
) -> None:
    """Print what people corrected or answered as golden questions.

    An expert completes them: evidence and rubric are left empty."""
    from bot.memory.proposals import propose, to_yaml

    copilot = wired()
    chosen = copilot.domain(domain).domain if domain else None
    sys.stdout.write(to_yaml(propose(copilot.index.engine, chosen)))
