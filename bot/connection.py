"""Connections of the bot: Slack's Web API and socket, the inbox's database and its lease."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog
from slack_bolt import App
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk import WebClient
from sqlalchemy import Engine
from websockets.exceptions import WebSocketException

from bot.access.directory import FAILED_SECONDS
from bot.access.gate import Gate
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.slack.client import (
    ABOUT_THE_TOKEN,
    Members,
    SlackBusy,
    SlackClient,
    SlackRefused,
    SlackUnsure,
    refused_token,
    user_group_members,
)
from bot.slack.socket_mode import SocketMode
from config.errors import ConfigError, CopilotError, PeopleUnknown, UsageError
from config.parsing.schedules import USER
from config.parsing.secret_files import private_folder
from config.settings import Settings
from durable.failures import storage_failure
from durable.lease import FileLease, Lease, PostgresLease
from index.permissions.rules import Person

log = structlog.get_logger()

MAX_NOTICE_CHARS = 3_000
"""Slack cuts a longer text anywhere."""


def notify_each(web: SlackClient, users: Iterable[str], lines: Sequence[str]) -> bool:
    """Send each user a direct message, in one attempt; failures are logged. False when a later
    attempt may reach more users."""
    text = "\n".join(f"• {sanitize_mrkdwn(line)}" for line in lines)[:MAX_NOTICE_CHARS]
    is_done = True
    for user in sorted(set(users)):
        try:
            web.once("chat.postMessage", channel=user, text=text)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.warning("an admin could not be notified", user=user, reason=str(error))
            is_final = isinstance(error, SlackRefused) and error.code not in ABOUT_THE_TOKEN
            is_done = is_done and is_final
    return is_done


INBOX_FILE = "inbox.sqlite"
SOCKET_THREADS = 32
"""Each takes a millisecond to store an event; the SDK's default is 10."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The bot's user and workspace."""

    user: str
    bot: str
    team: str
    team_url: str
    """Without a slash at its end; empty where Slack does not say."""
    enterprise: str = ""
    """The organization, on Enterprise Grid."""
    name: str = ""
    team_name: str = ""

    @property
    def workspace_ids(self) -> frozenset[str]:
        """Ids of the team and the organization: members of either are colleagues."""
        return frozenset({self.team, self.enterprise} - {""})


def reach_slack(settings: Settings, *, patience: float = 30.0) -> tuple[SlackClient, Identity]:
    """The Web API with the bot's token, and the bot's identity.

    Raises ConfigError when Slack refuses the token, CopilotError when it can't be reached within
    `patience` seconds."""
    web = _web(settings)
    identity = _identify(web, patience)
    web.bot_user, web.bot_id = identity.user, identity.bot
    return web, identity


def open_gate(settings: Settings) -> Gate:
    """Raises as `reach_slack` does."""
    web, identity = reach_slack(settings)
    return Gate(web, identity.workspace_ids)


def open_directory(settings: Settings) -> Gate:
    """For requests by HTTP, which don't wait for Slack. Raises ConfigError when Slack refuses the
    token, PeopleUnknown while it can't be reached."""
    try:
        web, identity = reach_slack(settings, patience=0.0)
    except ConfigError:
        raise
    except CopilotError as error:
        log.warning("slack lookup failed, access denied", reason=str(error))
        raise PeopleUnknown(math.ceil(FAILED_SECONDS)) from error
    return Gate(web, identity.workspace_ids)


def open_user_groups(
    settings: Settings,
) -> Callable[[Collection[str]], Mapping[str, Members | str]]:
    """Members of Slack user groups: see `index.permissions.groups.FetchMembers`."""
    if settings.slack_bot_token is None:
        return lambda groups: dict.fromkeys(groups, "SLACK_BOT_TOKEN is not set")
    return partial(user_group_members, web=_web(settings))


def open_notices(settings: Settings) -> Callable[[Collection[str], Sequence[str]], bool]:
    """(Slack user ids, lines) → as `notify_each`. Without a token nobody is notified."""
    if settings.slack_bot_token is None:
        return lambda users, lines: True
    return lambda users, lines: notify_each(_web(settings), users, lines)


def open_slack(settings: Settings) -> SlackClient | None:
    """None without a token."""
    return _web(settings) if settings.slack_bot_token else None


def _web(settings: Settings) -> SlackClient:
    base = api_base(settings.slack_api_url)
    return SlackClient(WebClient(token=_bot_token(settings), base_url=base, timeout=30))


def resolve_person(settings: Settings, name: str) -> Person:
    """The person with this Slack user id or e-mail address; with both where Slack knows them.

    Raises UsageError for an address without a Slack user."""
    try:
        return _person(settings, name)
    except (CopilotError, SlackRefused, SlackUnsure, SlackBusy) as error:
        if re.fullmatch(USER, name):
            return Person(slack_user=name)
        if "@" not in name:
            raise UsageError(
                f"{name!r} is nobody", remedy="give a Slack user id (U…) or an e-mail address"
            ) from None
        raise UsageError(
            f"Slack doesn't say whose address {name} is: {error}",
            remedy="give the Slack user id, U…",
        ) from error


def _person(settings: Settings, name: str) -> Person:
    settings.require(slack_bot_token="see docs/slack-setup.md")  # noqa: S106 - where to find it
    people = open_gate(settings).people
    if re.fullmatch(USER, name):
        return people.person(name)
    if "@" not in name:
        raise UsageError(f"{name!r} is no address")
    person = people.member_by_email(name).person
    if not person.slack_user:
        raise UsageError("nobody has it")
    return replace(person, email=name)


def _identify(web: SlackClient, patience: float) -> Identity:
    try:
        who = web.call("auth.test", patience=patience)
    except SlackRefused as refused:
        raise refused_token("SLACK_BOT_TOKEN", refused.code) from refused
    except (SlackBusy, SlackUnsure) as error:
        raise CopilotError(
            f"could not reach Slack: {error}",
            remedy="check the network, HTTPS_PROXY and SLACK_API_URL",
        ) from error
    return Identity(
        user=str(who.get("user_id") or ""),
        name=str(who.get("user") or ""),
        team_name=str(who.get("team") or ""),
        bot=str(who.get("bot_id") or ""),
        team=str(who.get("team_id") or ""),
        team_url=str(who.get("url") or "").rstrip("/"),
        enterprise=str(who.get("enterprise_id") or ""),
    )


def bolt_app(settings: Settings, identity: Identity) -> App:
    """Bolt without listeners, for Socket Mode and HTTP."""
    secret = settings.slack_signing_secret
    authorization = AuthorizeResult(
        enterprise_id=None,
        team_id=identity.team,
        bot_token=_bot_token(settings),
        bot_id=identity.bot,
        bot_user_id=identity.user,
    )
    app = App(
        client=WebClient(base_url=api_base(settings.slack_api_url)),
        signing_secret=secret.get_secret_value() if secret else None,
        # Constant: no call to Slack delays an ack.
        authorize=lambda **_: authorization,
        # The event is acknowledged after the listener has stored it.
        process_before_response=True,
    )
    app.error(_not_stored)
    return app


def _not_stored(error: Exception) -> BoltResponse:
    """Status 500, so that Slack sends the event again. No traceback while the database fails: one
    for each event would flood the log."""
    if failure := storage_failure(error):
        log.warning("an event can't be stored, and waits for the database", cause=failure.problem)
    else:
        log.error("a listener failed", exc_info=error)
    return BoltResponse(status=500)


def connect(app: App, settings: Settings) -> SocketMode:
    """Open Socket Mode. Raises ConfigError when Slack refuses the app token."""
    token = settings.slack_app_token.get_secret_value() if settings.slack_app_token else ""
    web = SlackClient(WebClient(base_url=api_base(settings.slack_api_url), timeout=30))
    socket = SocketMode(app, web, token, threads=SOCKET_THREADS)
    try:
        socket.connect()
    except SlackRefused as refused:
        raise refused_token("SLACK_APP_TOKEN", refused.code) from refused
    except (SlackBusy, SlackUnsure, OSError, WebSocketException) as error:
        raise CopilotError(
            f"could not open a socket to Slack: {error}", remedy="check the network, and try again"
        ) from error
    return socket


def inbox_url(settings: Settings) -> str:
    """Where DBOS stores the inbox: in the product's PostgreSQL, or in its own SQLite file."""
    if settings.database_url:
        return settings.database_url
    private_folder(settings.data_dir)
    return f"sqlite:///{(settings.data_dir / INBOX_FILE).absolute()}"


def lease_for(settings: Settings, engine: Engine) -> Lease:
    if settings.database_url:
        return PostgresLease(engine)
    return FileLease(settings.data_dir / "bot.lock")


def api_base(url: str) -> str:
    return url if url.endswith("/") else f"{url}/"


def _bot_token(settings: Settings) -> str:
    return settings.slack_bot_token.get_secret_value() if settings.slack_bot_token else ""
