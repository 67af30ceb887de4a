"""Commands that run a part of the product: the demo, ingestion, the bot, the API."""

from __future__ import annotations

import json
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import AsJson, DomainNames, free_port, print_json, wired
from config.errors import CopilotError, DatabaseAway, IndexUnavailable, UsageError
from durable.stop_signal import end_at_once

if TYPE_CHECKING:
    from oncall import Copilot

app = typer.Typer()


@app.command()
def demo(
    once: Annotated[bool, typer.Option("--once", help="Exit after the sample answer.")] = False,
) -> None:
    """Try it: a local Slack, demo documents, an answer in a thread."""
    try:
        from cli.demo import run_demo
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("playground"):
            raise
        raise UsageError(
            "the demo comes with the source, not with the image", remedy="run `make demo` there"
        ) from None
    from config.checks import for_the_demo
    from config.settings import read_settings
    from oncall import Copilot

    try:
        run_demo(Copilot, for_the_demo(read_settings()), once=once)
    except KeyboardInterrupt:
        sys.stderr.write("\noncall: stopped\n")
        end_at_once(1)
    end_at_once()


@app.command("ingest")
def ingest_command(
    names: DomainNames = None,
    full: Annotated[bool, typer.Option("--full", help="Do every document again.")] = False,
    accept_drop: Annotated[
        bool,
        typer.Option(
            "--accept-drop", help="Publish even if fewer golden questions find their evidence."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the ingestion job once: load, split, enrich, publish."""
    from cli.output.ingest import ProgressBar, print_reports, to_json

    copilot = wired()
    chosen = [copilot.domain(name).domain for name in names or copilot.domains]
    reports = []
    for name in chosen:
        with ProgressBar(name, visible=not as_json) as bar:
            reports.append(copilot.ingest(name, full=full, accept_drop=accept_drop, watch=bar))
    if as_json:
        print_json([to_json(report) for report in reports])
    else:
        print_reports(reports)
    if any(report.failed or report.lost or report.alarms for report in reports):
        raise typer.Exit(1)


@app.command()
def bot(
    health_port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="Port of /healthz, /readyz and /metrics; 0 for none."),
    ] = 8080,
) -> None:
    """Answer in Slack over Socket Mode until stopped."""
    copilot = wired()
    running = copilot.bot()
    free_port(health_port)
    _say_what_is_missing(copilot)
    gauges = (copilot.freshness_gauges, copilot.answers.budget_gauges)
    running.run(health_port=health_port or None, others=gauges)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8080,
) -> None:
    """Serve the HTTP API, and MCP at /mcp.

    With SLACK_SIGNING_SECRET, Slack's events are taken at /slack/events as well. Without a token
    (`oncall token create`) it listens on this machine alone."""
    from api.auth.server import PlainStart, server_of

    copilot = wired()
    # With only a bot token it checks membership; questions then arrive over the socket.
    slack = copilot.settings.slack_signing_secret is not None
    with _listening(host, port, anywhere=copilot.tokens.demanded()) as listener:
        served_app = PlainStart(copilot.api(slack=slack))
        server = server_of(served_app)
        _say_what_is_missing(copilot)
        with suppress(KeyboardInterrupt, SystemExit):  # Ctrl-C ends it; a failed start exits
            server.run(sockets=[listener])
    if served_app.failure:
        raise served_app.failure
    if not server.started:
        raise typer.Exit(1)


@app.command()
def mcp(
    asker: Annotated[
        str,
        typer.Option("--as", metavar="EMAIL", help="Whose document permissions count."),
    ] = "",
) -> None:
    """Answer an assistant at this machine over MCP.

    The assistant starts it. Others come by /mcp of `oncall serve`, with tokens."""
    copilot = wired(at_a_terminal="warning")
    _say_what_is_missing(copilot)
    with suppress(KeyboardInterrupt):
        copilot.mcp(asker)


def _say_what_is_missing(copilot: Copilot) -> None:
    """Print the domains without a published index, before a model loads.

    The program starts anyway: it uses an index as soon as it is published."""
    for name in copilot.domains:
        try:
            copilot.index.figures(name)  # opening it can take minutes; /healthz answers meanwhile
        except (IndexUnavailable, DatabaseAway) as error:
            sys.stderr.write(f"oncall: {error}\n")


def _listening(host: str, port: int, *, anywhere: bool) -> socket.socket:
    """Open the listening socket. `anywhere`: other machines may connect, because tokens are set.

    Raises CopilotError if the address is in use or not local to this machine. Raises UsageError
    for a non-loopback address without `anywhere`."""
    from api.auth.middleware import is_loopback

    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if not anywhere and not is_loopback(str(address[0])):
            raise UsageError(
                f"without a token the API listens on this machine alone, not on {host}",
                remedy="run `oncall token create NAME`, set ONCALL_API_TOKEN, or leave --host out",
            )
        return socket.create_server(address, family=family)
    except OSError as error:
        raise CopilotError(
            f"{host}:{port} can't be listened on: {error.strerror}", remedy="use --port or --host"
        ) from error


@app.command()
def health(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of /readyz.")] = 8080,
) -> None:
    """Ask what runs on this machine whether it is ready.

    Exits with 1 and what is missing when it isn't: the health check of each container."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4)
    try:
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        body = response.read()
    except OSError as error:
        raise CopilotError(
            f"nothing answers on port {port}: {error.strerror or error}",
            remedy="is it running, and is --port its health port?",
        ) from error
    finally:
        connection.close()
    if response.status != 200:
        raise CopilotError(f"not ready: {_detail(body)}")
    sys.stdout.write("ready\n")


def _detail(body: bytes) -> str:
    try:
        return str(json.loads(body)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the answer is none of ours: {body[:80]!r}"


@app.command()
def status() -> None:
    """Say what is configured, published and reachable."""
    from cli.commands.status import print_status

    print_status(wired())
