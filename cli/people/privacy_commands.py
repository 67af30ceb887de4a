"""What is kept about people: purged, handed out, erased."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options import wired
from cli.people.output import written_to

app = typer.Typer()
privacy_app = typer.Typer(no_args_is_help=True, help="What is kept about people.")
app.add_typer(privacy_app, name="privacy")

User = Annotated[str, typer.Argument(metavar="USER", help="Slack user id, or e-mail address.")]
OutFile = Annotated[
    Path | None, typer.Option("--file", help="Write there, for its owner alone to read.")
]


@privacy_app.command("purge")
def privacy_purge() -> None:
    """Delete at once what is older than its domain's retention.

    A running bot does so by itself, once a day."""
    purged = wired().privacy.purge()
    typer.echo(
        f"{purged.questions} questions deleted, {purged.open_handoffs} open hand-offs without "
        f"their words now, the state of {purged.threads} threads deleted, {purged.audit_rows} "
        "audit rows deleted"
    )


@privacy_app.command("export")
def privacy_export(user: User, file: OutFile = None) -> None:
    """Print all that is kept about a person, as JSON."""
    privacy = wired().privacy
    written_to(file, [privacy.export(privacy.person(user))], indent=2)


@privacy_app.command("erase")
def privacy_erase(
    user: User,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask for confirmation.")] = False,
) -> None:
    """Erase all that is kept about a person, but the audit log.

    What is written in Slack stays in Slack."""
    privacy = wired().privacy
    person = privacy.person(user)
    if not yes:
        typer.confirm(f"Erase all that is kept about {person.slack_user}?", abort=True, err=True)
    erased = privacy.erase(person)
    typer.echo(
        f"erased: {erased.questions} questions, {erased.feedback} verdicts, {erased.handoffs} "
        f"hand-offs of others, the state of {erased.threads} threads, {erased.inbox} stored "
        "events; messages in Slack stay there, and the audit log keeps its days"
    )
    if erased.still_working:
        typer.echo(
            f"oncall: {erased.still_working} stored events are being worked on; "
            "run this again in a minute, or once the bot is back",
            err=True,
        )
        raise typer.Exit(1)
