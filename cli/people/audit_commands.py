"""The audit log, handed out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from cli.options import wired
from cli.people.output import written_to
from cli.people.privacy_commands import OutFile

app = typer.Typer()
audit_app = typer.Typer(no_args_is_help=True, help="Who was shown which documents.")
app.add_typer(audit_app, name="audit")


@audit_app.command("export")
def audit_export(
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="A day or moment, in UTC."),
    ] = None,
    user: Annotated[
        str, typer.Option(help="Slack user id or e-mail address, as it was recorded.")
    ] = "",
    document: Annotated[str, typer.Option(help="Document id.")] = "",
    domain: Annotated[str, typer.Option(help="One domain only.")] = "",
    file: OutFile = None,
) -> None:
    """Print who was shown which documents, one JSON object a line."""
    rows = wired().audit.export(
        since=since.replace(tzinfo=UTC) if since else None,
        askers=[user] if user else [],
        document=document,
        domain=domain,
    )
    written_to(file, rows)
