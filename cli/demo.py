"""`oncall demo`: the whole product on one machine, with stand-ins for Slack and Google.

Documents, workspace and people are invented. Everything else is real: the Google client, the
index, the agents, the Slack app over its WebSocket."""

from __future__ import annotations

import fcntl
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, Any

from pydantic import SecretStr
from rich.console import Console

from cli.output.terminal import lines_console, print_markdown
from config.errors import ConfigError, CopilotError
from config.parsing.secret_files import private_folder
from durable.stop_signal import StopSignal
from playground.google_stand_in import GoogleStandIn
from playground.slack_stand_in import (
    SHOWN_QUESTIONS,
    Guide,
    KindOfReply,
    ShownQuestion,
    SlackStandIn,
)

if TYPE_CHECKING:
    from bot.app import Bot
    from config.settings import Settings
    from oncall import Copilot

PAGE_PORT = 8787
GOOGLE_PORT = 8788
DOCUMENTS_PORT = 8789
PATIENCE = 120.0
"""Maximum seconds for an answer, enough for a slow model."""
KINDS = {
    "company_specific_rag_success": "An answer",
    "passages_found": "Passages found",
    "ambiguous_query": "A question back",
    "no_answer_found": "No answer found",
}
"""Answer path → label on the page. Replies of other paths are not listed as examples."""


def run_demo(build: Callable[[Settings], Copilot], settings: Settings, *, once: bool) -> None:
    """Start everything, ask a question, print its thread; then serve until Ctrl-C, unless `once`.

    Raises ConfigError, before writing anything, if a demo already uses the data folder."""
    console = lines_console()
    logging.getLogger("dbos").setLevel(logging.ERROR)
    with ExitStack() as stack:
        held = stack.enter_context(_alone(settings.data_dir))
        google, slack = _servers(stack)
        held.write(slack.url)
        held.flush()
        listener = stack.enter_context(_listener())
        copilot = build(_local(settings, google, slack, listener.getsockname()[1]))
        notice = _about_the_model(copilot.model_name)
        slack.page.show(Guide(notice=notice))
        console.print("[bold]oncall-copilot demo[/] [dim]Tidewater Pay, an invented company[/]")
        console.print(notice)
        _ingest(copilot)
        if has_pages(copilot):
            stack.enter_context(serving_pages(copilot, listener))
        bot = copilot.bot()
        bot.start()
        stack.callback(bot.stop, 5.0)
        first, *others = SHOWN_QUESTIONS
        thread = _ask(slack, first)
        _print_thread(console, first, _replied(slack, first, thread))
        console.print(f"\nOpen [bold link={slack.url}]{slack.url}[/] and ask in a help channel.")
        if slack.port != PAGE_PORT:
            console.print(f"[dim]Port {PAGE_PORT} was taken, so it is {slack.port}.[/]")
        if once:
            return
        console.print("[dim]Ctrl-C stops it.[/]")
        kinds = [*_kind(slack, bot, first, thread)]
        for sample in others:
            kinds += _kind(slack, bot, sample, _ask(slack, sample))
        slack.page.show(Guide(notice=notice, kinds=kinds))
        _wait_for_the_end()


@contextmanager
def _alone(folder: Path) -> Iterator[IO[str]]:
    """Lock the data folder: two demos would write to the same index.

    Yields the empty lock file, to which the caller writes the page's address. The system releases
    the lock when the process ends for any reason."""
    with (private_folder(folder) / "demo.lock").open("a+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            held.seek(0)
            where = held.read().strip()
            raise ConfigError(
                f"a demo is already running in {folder.resolve()}" + (where and f", at {where}"),
                remedy="open that one or stop it; a second takes a folder of its own, "
                "as ONCALL_DATA_DIR names it",
            ) from error
        held.truncate(0)
        yield held


def _servers(stack: ExitStack) -> tuple[GoogleStandIn, SlackStandIn]:
    """Start the stand-ins on their preferred ports, or on the next free ones."""
    try:
        google = stack.enter_context(GoogleStandIn(port=GOOGLE_PORT))
        return google, stack.enter_context(SlackStandIn(port=PAGE_PORT))
    except OSError as error:
        raise CopilotError(
            f"the demo found no free port on 127.0.0.1: {error.strerror or error}",
            remedy=f"stop what listens from port {PAGE_PORT} on",
        ) from error


def _listener() -> socket.socket:
    for port in (DOCUMENTS_PORT, 0):
        with suppress(OSError):
            return socket.create_server(("127.0.0.1", port))
    raise CopilotError("the demo found no free port on 127.0.0.1", remedy="stop what listens there")


def has_pages(copilot: Copilot) -> bool:
    """Whether a document has no web address. Then its citations open a page of the API."""
    from index.page_links import page_target

    cards = (card for inside in copilot.published().values() for card in inside.documents.values())
    return any(page_target(card.url) for card in cards)


@contextmanager
def serving_pages(copilot: Copilot, listener: socket.socket) -> Iterator[None]:
    from api.auth.server import server_of

    server = server_of(copilot.api(slack=False), lifespan="off")
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, name="pages", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10.0)


def _about_the_model(name: str) -> str:
    if name:
        return f"Answers are written by the language model {name}, from the documents."
    return (
        "No language model is connected: Copilot quotes the documents or says where to look. "
        "Set OPENAI_API_KEY and ONCALL_CHAT_MODEL to connect one."
    )


def _local(
    settings: Settings, google: GoogleStandIn, slack: SlackStandIn, documents_port: int
) -> Settings:
    """Returns the settings with the stand-ins for Slack and Google. The model is unchanged. Pages
    of documents open without a sign-in or a token."""
    return settings.model_copy(
        update={
            "slack_api_url": slack.api_url,
            "slack_bot_token": SecretStr(slack.bot_token),
            "slack_app_token": SecretStr(slack.app_token),
            "slack_signing_secret": SecretStr(slack.signing_secret),
            "slack_client_id": None,
            "slack_client_secret": None,
            "public_url": f"http://localhost:{documents_port}",
            "api_token": None,
            "google_api_url": google.url,
            "google_credentials": google.write_credentials(
                settings.data_dir / "demo-google-key.json"
            ),
            "google_delegate": None,
            "google_comments": True,
            "log_level": settings.log_level or "warning",
        }
    )


def _ingest(copilot: Copilot) -> None:
    from cli.output.ingest import ProgressBar, print_reports

    reports = []
    for name in copilot.domains:
        with ProgressBar(name) as bar:
            reports.append(copilot.ingest(name, watch=bar))
    print_reports(reports)


def _ask(slack: SlackStandIn, sample: ShownQuestion) -> str:
    mention = f"<@{slack.bot_user_id}> {sample.text}"
    return slack.post_as_user(sample.channel, mention, user=sample.user)


def _replied(slack: SlackStandIn, sample: ShownQuestion, thread: str) -> dict[str, Any]:
    return slack.wait_for_reply(sample.channel, thread, PATIENCE, until=_is_answered)


def _kind(
    slack: SlackStandIn, bot: Bot, sample: ShownQuestion, thread: str
) -> Iterator[KindOfReply]:
    """Yields the kind of a question's reply, or nothing if its path has no label."""
    with suppress(TimeoutError):
        reply = _replied(slack, sample, thread)
        record = bot.records.of_post(sample.channel, reply["ts"])
        if record and record.path in KINDS:
            yield KindOfReply(
                name=KINDS[record.path],
                channel=sample.channel,
                ts=thread,
                question=sample.text,
                said=str(reply["text"]),
            )


def _is_answered(message: dict[str, Any]) -> bool:
    payload: dict[str, Any] = message.get("metadata", {}).get("event_payload", {})
    return payload.get("state") == "answered"


def _print_thread(console: Console, sample: ShownQuestion, reply: dict[str, Any]) -> None:
    console.print(f"\n[bold]#help-security[/]\n[cyan]you[/]  @Copilot {sample.text}")
    parts = [str(block["text"]) for block in reply["blocks"] if block["type"] == "markdown"]
    body = "\n\n".join(parts) or str(reply["text"])
    console.print("[green]Copilot[/]")
    print_markdown(body, margin=3)


def _wait_for_the_end() -> None:
    ended = StopSignal()
    ended.listen()
    ended.wait()
