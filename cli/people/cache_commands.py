"""Answers that are given again to the same question."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import wired

app = typer.Typer()
cache_app = typer.Typer(
    no_args_is_help=True, help="Answers that are given again to the same question."
)
app.add_typer(cache_app, name="cache")


@cache_app.command("list")
def cache_list() -> None:
    """Say how many answers are kept of each domain."""
    for domain, (count, oldest) in wired().kept_answers.counts().items():
        typer.echo(f"{domain}: {count} answers, the oldest of {oldest:%Y-%m-%d %H:%M} UTC")


@cache_app.command("clear")
def cache_clear(
    domain: Annotated[str, typer.Argument(metavar="[DOMAIN]", help="All domains by default.")] = "",
) -> None:
    """Forget the answers of a domain, or of all: each question is answered anew."""
    copilot = wired()
    kept = copilot.kept_answers
    # One whose file is gone can be cleared as long as something is kept of it.
    if domain and domain not in kept.counts():
        copilot.domain(domain)
    typer.echo(f"{kept.clear(domain)} answers forgotten")
