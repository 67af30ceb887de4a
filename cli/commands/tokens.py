"""`oncall token`: who may use the HTTP API."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.options import AsJson, print_json, wired

app = typer.Typer(help="Tokens of the HTTP API.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Name of the token.", metavar="NAME")]


@app.command()
def create(
    name: Name,
    domains: Annotated[
        list[str] | None, typer.Option("--domain", help="What it opens; all domains by default.")
    ] = None,
    identity: Annotated[
        str,
        typer.Option(
            help="E-mail of the person whose token it is: it may do what they may do in Slack."
        ),
    ] = "",
    speaks_for_people: Annotated[
        bool, typer.Option("--speaks-for-people", help="Believe its asker_email.")
    ] = False,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Opens /metrics; without --domain, no domain.")
    ] = False,
) -> None:
    """Make a token of the HTTP API and print it, this once."""
    from api.auth.tokens import create_token

    copilot = wired()
    chosen = [copilot.domain(domain).domain for domain in domains or ()]
    token = create_token(
        copilot.settings.config_dir,
        name,
        domains=chosen if chosen or metrics else None,
        identity=identity,
        speaks_for_people=speaks_for_people,
        metrics=metrics,
    )
    sys.stdout.write(token + "\n")
    sys.stderr.write("Keep it now: only its hash is kept here.\n")


@app.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """List the tokens of the HTTP API."""
    from rich.table import Table

    from api.auth.tokens import read_tokens
    from cli.output.terminal import table_console
    from config.settings import read_settings

    entries = read_tokens(read_settings().config_dir)
    if as_json:
        print_json([entry.model_dump(exclude={"sha256"}) for entry in entries])
        return
    table = Table("name", "domains", "identity", "speaks for people", "metrics", "created")
    for entry in entries:
        opens = "all" if entry.domains == "all" else ", ".join(entry.domains)
        may = ["yes" if one else "" for one in (entry.speaks_for_people, entry.metrics)]
        table.add_row(entry.name, opens, entry.identity, *may, entry.created)
    table_console().print(table)


@app.command()
def revoke(name: Name) -> None:
    """End a token of the HTTP API; a running server knows with its next request."""
    from api.auth.tokens import revoke_token
    from config.settings import read_settings

    revoke_token(read_settings().config_dir, name)
