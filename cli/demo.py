"""`oncall demo`: the whole product on one machine, with stand-ins for Slack and Google.

The documents, the workspace and its people are invented; everything between them is real: the
Google client, the index, the agents, the Slack app over its WebSocket."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr
from rich.console import Console
from rich.markdown import Markdown
from rich.panel import Panel

from playground.google_stand_in import GoogleStandIn
from playground.slack_stand_in import SlackStandIn

if TYPE_CHECKING:
    from config.settings import Settings
    from oncall import Copilot

PAGE_PORT = 8787
GOOGLE_PORT = 8788
CHANNEL = "C0SECURITY"
QUESTION = "how old may an API signing key on Restricted data get in Singapore?"
PATIENCE = 120.0
"""Seconds for the first answer; a model that is slow has this long."""


def run_demo(build: Callable[[Settings], Copilot], settings: Settings, *, once: bool) -> None:
    """Start everything, ask a question, print its thread; then serve until Ctrl-C, or `once`."""
    console = Console(highlight=False)
    logging.getLogger("dbos").setLevel(logging.ERROR)
    with ExitStack() as stack:
        google = stack.enter_context(GoogleStandIn(port=GOOGLE_PORT))
        slack = stack.enter_context(SlackStandIn(port=PAGE_PORT))
        copilot = build(_local(settings, google, slack))
        _ingest(copilot, console)
        bot = copilot.bot()
        bot.start()
        stack.callback(bot.stop, 5.0)
        thread = slack.post_as_user(CHANNEL, f"<@{slack.bot_user_id}> {QUESTION}")
        reply = slack.wait_for_reply(CHANNEL, thread, PATIENCE, until=_is_answered)
        _print_thread(console, reply)
        console.print(f"\nOpen [bold link={slack.url}]{slack.url}[/] and ask in a help channel.")
        if slack.port != PAGE_PORT:
            console.print(f"[dim]Port {PAGE_PORT} was taken.[/]")
        if once:
            return
        console.print("[dim]Ctrl-C stops it.[/]")
        _wait_for_the_end()


def _local(settings: Settings, google: GoogleStandIn, slack: SlackStandIn) -> Settings:
    """The same settings, with the stand-ins for Slack and Google. A model stays as it is set."""
    data_dir = settings.data_dir
    data_dir.mkdir(parents=True, exist_ok=True)
    return settings.model_copy(
        update={
            "slack_api_url": slack.api_url,
            "slack_bot_token": SecretStr(slack.bot_token),
            "slack_app_token": SecretStr(slack.app_token),
            "slack_signing_secret": SecretStr(slack.signing_secret),
            "google_api_url": google.url,
            "google_credentials": google.write_credentials(data_dir / "demo-google-key.json"),
            "google_delegate": None,
        }
    )


def _ingest(copilot: Copilot, console: Console) -> None:
    from cli.ingest_report import ProgressBar, print_reports

    how = f"the model {copilot.model.name}" if copilot.model else "quoting, no model configured"
    console.print(f"[bold]oncall-copilot demo[/] [dim]Tidewater Pay, an invented company; {how}[/]")
    reports = []
    for name in copilot.domains:
        with ProgressBar(name) as bar:
            reports.append(copilot.ingest(name, watch=bar))
    print_reports(reports)


def _is_answered(message: dict[str, Any]) -> bool:
    payload: dict[str, Any] = message.get("metadata", {}).get("event_payload", {})
    return payload.get("state") == "answered"


def _print_thread(console: Console, reply: dict[str, Any]) -> None:
    console.print(f"\n[bold]#help-security[/]\n[cyan]you[/]  @Copilot {QUESTION}")
    parts = [str(block["text"]) for block in reply["blocks"] if block["type"] == "markdown"]
    body = "\n\n".join(parts) or str(reply["text"])
    console.print(Panel(Markdown(body), title="Copilot", title_align="left", border_style="green"))


def _wait_for_the_end() -> None:
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()
