"""Commands that export, purge and erase personal data, the audit log and cached answers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cli.options import AnyDomain, OneDomain, wired
from config.errors import UsageError

app = typer.Typer()
privacy_app = typer.Typer(no_args_is_help=True, help="What is kept about people.")
audit_app = typer.Typer(no_args_is_help=True, help="Who was shown which documents.")
cache_app = typer.Typer(
    no_args_is_help=True, help="Answers that are given again to the same question."
)
app.add_typer(cache_app, name="cache")
app.add_typer(privacy_app, name="privacy")
app.add_typer(audit_app, name="audit")

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
    _write_json(file, [privacy.export(privacy.person(user))], indent=2)


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
    domain: OneDomain = "",
    file: OutFile = None,
) -> None:
    """Print who was shown which documents, one JSON object a line."""
    rows = wired().audit.export(
        since=since.replace(tzinfo=UTC) if since else None,
        askers=[user] if user else [],
        document=document,
        domain=domain,
    )
    _write_json(file, rows)


@cache_app.command("list")
def cache_list() -> None:
    """Say how many answers are kept of each domain."""
    for domain, (count, oldest) in wired().cached_answers.counts().items():
        typer.echo(f"{domain}: {count} answers, the oldest of {oldest:%Y-%m-%d %H:%M} UTC")


@cache_app.command("clear")
def cache_clear(domain: AnyDomain = "") -> None:
    """Forget the answers of a domain, or of all: each question is answered anew."""
    copilot = wired()
    store = copilot.cached_answers
    # A domain without a file can be cleared while it still has cached answers.
    if domain and domain not in store.counts():
        copilot.domain(domain)
    typer.echo(f"{store.clear(domain)} answers forgotten")


def _write_json(file: Path | None, values: Iterable[object], *, indent: int | None = None) -> None:
    """Write each value as JSON on its own line. A new file is 0600; an existing one is refused.

    Raises UsageError if the file cannot be written."""
    lines = (json.dumps(one, ensure_ascii=False, indent=indent, default=str) for one in values)
    if file is None:
        for line in lines:
            sys.stdout.write(line + "\n")
        return
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(
            f"cannot write {file}: {error.strerror}", remedy="name a file that isn't there yet"
        ) from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)
