"""`oncall init` and `oncall doctor`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cli.options import AsJson, print_json

app = typer.Typer()


@app.command()
def init(
    channel: Annotated[
        str, typer.Option(help="Help channel: its name, link or id.", show_default=False)
    ] = "",
    folder: Annotated[
        list[str] | None, typer.Option(help="Google Drive folder: its link or id; may be repeated.")
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option(help="Documents on this machine instead: a file, folder or pattern."),
    ] = None,
    google_key: Annotated[
        Path | None, typer.Option(help="Key file of the Google service account.")
    ] = None,
    domain: Annotated[str, typer.Option(help="Name of the domain; the channel's without.")] = "",
    title: Annotated[str, typer.Option(help="What people read of it, as in 'Security help'.")] = "",
    admin: Annotated[
        str, typer.Option(help="Who is told of trouble: e-mail address or Slack member id.")
    ] = "",
    ingest: Annotated[
        bool | None, typer.Option("--ingest/--no-ingest", help="Read the documents at the end.")
    ] = None,
    hello: Annotated[
        bool | None, typer.Option("--hello/--no-hello", help="Say hello in the channel.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing: options, the environment and .env tell all.")
    ] = False,
) -> None:
    """Set it up: asks, checks each answer at once, writes the files.

    SLACK_BOT_TOKEN and SLACK_APP_TOKEN are taken from the environment or asked for: on a command
    line they would stay in the shell's history. Answers may be piped in, one a line. Run it again
    at any time: what works is kept."""
    from cli.setup.init import run_init
    from cli.setup.prompts import InitOptions, Prompter

    run_init(
        Prompter(asks=not yes),
        InitOptions(
            channel=channel,
            folders=tuple(folder or ()),
            files=tuple(files or ()),
            google_key=google_key,
            domain=domain,
            title=title,
            admin=admin,
            ingest=ingest,
            hello=hello,
        ),
    )


@app.command()
def doctor(
    as_json: AsJson = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no language model, which costs tokens.")
    ] = False,
) -> None:
    """Look over the installation: what is wrong comes with its remedy.

    Asks the language model eight short questions, some 1,500 tokens, and says what it can do.
    Exits with 1 when anything is wrong."""
    from cli.setup.doctor import examined, show

    if as_json:
        findings = list(examined(offline=offline))
        print_json([asdict(one) for one in findings])
        well = all(one.state != "wrong" for one in findings)
    else:
        well = show(examined(offline=offline))
    if not well:
        raise typer.Exit(1)
