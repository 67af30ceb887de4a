"""Slack checks of `oncall doctor` and `oncall init`: tokens, permissions, channels, people, and the
bot's introduction in its channel."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from slack_sdk import WebClient
from websockets.exceptions import WebSocketException

from bot.access.directory import kind_of
from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.connection import Identity, api_base, reach_slack
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure, refused_token
from bot.slack.socket_mode import count_others
from config.checks import (
    Finding,
    bare,
    channel_id_in,
    fine,
    misplaced,
    of_error,
    skipped,
    token_remedy,
    wrong,
)
from config.domain import Domain
from config.errors import ConfigError, CopilotError
from config.parsing.schedules import USER
from config.settings import Settings

BOT_TOKEN, APP_TOKEN = "Slack bot token", "Slack app token"
SCOPES_CHECK = "Slack permissions"
PATIENCE = 4.0
"""Seconds for which a check retries: a person waits for it."""
_APP_OF_TOKEN = re.compile(r"xapp-\d+-(A[A-Z0-9]+)-")


@dataclass(frozen=True, kw_only=True)
class SlackApp:
    """The Slack app of a bot token."""

    web: SlackClient = field(repr=False)
    identity: Identity
    scopes: frozenset[str]
    """Empty where Slack does not say."""
    app: str = ""
    """Its id, which the app token holds, too; empty where Slack does not say."""


def check_bot_token(settings: Settings) -> tuple[Finding, SlackApp | None]:
    """The app of the token; None when the token is wrong, or Slack does not answer."""
    if bad := _bad("SLACK_BOT_TOKEN", _secret(settings, "slack_bot_token")):
        return of_error(BOT_TOKEN, bad), None
    try:
        web, identity = reach_slack(settings, patience=PATIENCE)
        app = SlackApp(
            web=web, identity=identity, scopes=web.granted, app=_app_id(web, identity.bot)
        )
    except CopilotError as error:
        return of_error(BOT_TOKEN, error), None
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        return wrong(BOT_TOKEN, str(error), "try again"), None
    return fine(BOT_TOKEN, f"@{identity.name} in {identity.team_name}"), app


def check_scopes(app: SlackApp, domains: Iterable[Domain] = ()) -> Finding:
    """The scopes that the manifest requests for these domains, against those granted."""
    from bot.slack.manifest import scopes_for

    required = scopes_for(domains)
    if not app.scopes:
        return skipped(SCOPES_CHECK, "Slack doesn't say what the token may do")
    if missing := sorted(required.keys() - app.scopes):
        return wrong(
            SCOPES_CHECK,
            f"missing: {', '.join(missing)}",
            "add them under OAuth & Permissions, or paste the manifest under App Manifest; "
            "then Install App › Reinstall",
        )
    return fine(SCOPES_CHECK, f"all {len(required)} permissions of the manifest")


def check_app_token(settings: Settings, app: SlackApp | None, bots: int | None = None) -> Finding:
    """Whether Socket Mode opens with it, for the same app as the bot token's, and for these bots
    only. `bots`: how many of this installation run; None if unknown."""
    token = _secret(settings, "slack_app_token")
    if bad := _bad("SLACK_APP_TOKEN", token):
        return of_error(APP_TOKEN, bad)
    web = SlackClient(WebClient(base_url=api_base(settings.slack_api_url), timeout=30))
    try:
        url = str(web.call("apps.connections.open", patience=PATIENCE, app_token=token)["url"])
    except SlackRefused as refused:
        return of_error(APP_TOKEN, refused_token("SLACK_APP_TOKEN", refused.code))
    except (SlackUnsure, SlackBusy) as error:
        return wrong(
            APP_TOKEN,
            f"could not reach Slack: {error}",
            "check the network, HTTPS_PROXY and SLACK_API_URL",
        )
    token_app = _APP_OF_TOKEN.match(token)
    if app and app.app and token_app and token_app[1] != app.app:
        return wrong(
            APP_TOKEN,
            f"it is of the app {token_app[1]}, and the bot token of {app.app}",
            "take both from one app",
        )
    if bots is None:
        return fine(APP_TOKEN, "Socket Mode opens")
    try:
        others = count_others(url)
    except (OSError, WebSocketException) as error:
        return wrong(APP_TOKEN, f"no socket: {error}", "check that the network allows WebSockets")
    if others is not None and others > bots:
        return wrong(
            APP_TOKEN,
            f"connections that Slack counts: {others}; bots of this installation that run: {bots}",
            "if it stays so for a minute: another installation takes a share of the questions, "
            "as docs/operations/runbooks.md#oncallotherinstallation says",
        )
    return fine(APP_TOKEN, f"Socket Mode opens; bots of this installation that run: {bots}")


def check_slack(
    settings: Settings, domains: Iterable[Domain] = (), bots: int | None = None
) -> tuple[list[Finding], SlackApp | None]:
    """Both tokens and the permissions; where events come by HTTP, no app token is needed.
    `bots`: as in `check_app_token`."""
    bot_token, app = check_bot_token(settings)
    scopes = skipped(SCOPES_CHECK, "not asked, for want of a bot token that works")
    if app:
        scopes = check_scopes(app, domains)
    app_token = fine(APP_TOKEN, "not needed: events come by HTTP, with SLACK_SIGNING_SECRET")
    if settings.slack_app_token is not None or not settings.slack_signing_secret:
        app_token = check_app_token(settings, app, bots)
    return [bot_token, scopes, app_token], app


def _bad(variable: str, token: str) -> ConfigError | None:
    """A problem that shows without asking Slack."""
    if not token:
        return ConfigError(f"{variable} is not set", remedy="run `oncall init`")
    if token != bare(token):
        return ConfigError(
            f"{variable} has blanks, quotes or a name around it",
            remedy="leave them away: the token alone counts",
        )
    problem = misplaced(variable, token)
    return ConfigError(f"{variable}: {problem}", remedy=token_remedy(variable)) if problem else None


def _secret(settings: Settings, name: str) -> str:
    secret = getattr(settings, name)
    return secret.get_secret_value() if secret else ""


def _app_id(web: SlackClient, bot: str) -> str:
    try:
        reply = web.call("bots.info", patience=PATIENCE, bot=bot)
    except SlackRefused:  # without users:read
        return ""
    return str((reply.get("bot") or {}).get("app_id") or "")


MAX_CHANNELS = 20_000
"""Searched for a name."""
PAGE = 999
KINDS = ("public_channel,private_channel", "public_channel")
"""Requested in this order: without `groups:read` Slack refuses the first."""

Args = ParamSpec("Args")
Result = TypeVar("Result")


def _translate_errors(call: Callable[Args, Result]) -> Callable[Args, Result]:
    """Raises ConfigError for what Slack refuses, CopilotError when it can't be reached."""

    @wraps(call)
    def translate(*args: Args.args, **kwargs: Args.kwargs) -> Result:
        try:
            return call(*args, **kwargs)
        except SlackRefused as refused:
            remedy = (
                "install the app again with the scopes of the manifest"
                if refused.code == "missing_scope"
                else ""
            )
            raise ConfigError(str(refused), remedy=remedy) from refused
        except (SlackBusy, SlackUnsure) as error:
            raise CopilotError(f"could not reach Slack: {error}", remedy="try again") from error

    return translate


def check_channel(app: SlackApp, channel: str) -> Finding:
    """Whether the channel exists, is in use, and has the bot as a member."""
    check = f"channel {channel}"
    try:
        return _checked_channel(app, channel, check)
    except CopilotError as error:
        return of_error(check, error)


@_translate_errors
def _checked_channel(app: SlackApp, channel: str, check: str) -> Finding:
    invite = f"write /invite @{app.identity.name} there"
    try:
        reply = app.web.call("conversations.info", patience=PATIENCE, channel=channel)
    except SlackRefused as refused:
        if refused.code != "channel_not_found":
            raise
        return wrong(
            check,
            "the bot sees no such channel",
            f"if it is a private one, {invite}; else copy its id again: "
            "the channel's name › About › Channel ID",
        )
    about = reply.get("channel") or {}
    name = f"#{about.get('name') or channel}"
    if about.get("is_im") or about.get("is_mpim"):
        return wrong(check, "it is a direct message", "choose a channel")
    if about.get("is_archived"):
        return wrong(check, f"{name} is archived", "unarchive it, or choose another")
    if not about.get("is_member"):
        return wrong(check, f"the bot is not in {name}", invite)
    return fine(check, f"{name}, and the bot is in it")


@_translate_errors
def channel_name(app: SlackApp, channel: str) -> str:
    """Without `#`; empty where Slack does not say."""
    reply = app.web.call("conversations.info", patience=PATIENCE, channel=channel)
    return str((reply.get("channel") or {}).get("name") or "")


@_translate_errors
def find_channel(app: SlackApp, text: str) -> str:
    """A channel's id, by id, link, mention or name. Raises ConfigError that names the nearest."""
    if channel := channel_id_in(text):
        return channel
    name = "-".join(bare(text).lstrip("#").lower().split())
    channels = {str(one.get("name") or ""): str(one["id"]) for one in _channels(app)}
    if name in channels:
        return channels[name]
    close = difflib.get_close_matches(name, channels, n=1)
    raise ConfigError(
        f"the bot sees no channel #{name}" + (f"; did you mean #{close[0]}?" if close else ""),
        remedy=""
        if close
        else f"a private one it sees once you write /invite @{app.identity.name} there; "
        "or paste the channel's link",
    )


def _channels(app: SlackApp) -> Iterator[dict[str, Any]]:
    for kinds in KINDS:
        try:
            pages = app.web.pages(
                "conversations.list", "channels", patience=PATIENCE, limit=PAGE, types=kinds
            )
            yield from islice(pages, MAX_CHANNELS)
            return
        except SlackRefused as refused:
            if refused.code != "missing_scope" or kinds == KINDS[-1]:
                raise


@_translate_errors
def find_person(app: SlackApp, text: str) -> tuple[str, str]:
    """(id, name) by member id, mention or e-mail. Raises ConfigError where nobody matches."""
    query = bare(text).strip("<@>").split("|")[0]
    try:
        if "@" in query:
            reply = app.web.call("users.lookupByEmail", patience=PATIENCE, email=query)
        elif re.fullmatch(USER, query):
            reply = app.web.call("users.info", patience=PATIENCE, user=query)
        else:
            raise ConfigError(
                f"{query!r} is neither a member id (U…) nor an e-mail address",
                remedy="in Slack: your profile › ⋮ › Copy member ID",
            )
    except SlackRefused as refused:
        if refused.code not in {"user_not_found", "users_not_found", "user_not_visible"}:
            raise
        raise ConfigError(
            f"nobody in {app.identity.team_name} is {query}",
            remedy="in Slack: your profile › ⋮ › Copy member ID",
        ) from refused
    user = reply.get("user") or {}
    if kind_of(user, app.identity.workspace_ids) in ("bot", "former", "external"):
        raise ConfigError(
            f"{query} is a bot, has left, or is of another organization", remedy="name a colleague"
        )
    return str(user.get("id") or query), str(user.get("real_name") or user.get("name") or query)


HELLO_EVENT = "oncall_hello"
"""Event type in the message's metadata, by which it is recognized."""
MAX_MESSAGES = 100
"""Messages of the channel that are searched for an earlier introduction."""


def say_hello(app: SlackApp, channel: str, *, title: str, documents: int) -> bool:
    """False when the bot has introduced itself before. Raises CopilotError."""
    try:
        reply = app.web.call(
            "conversations.history",
            patience=PATIENCE,
            channel=channel,
            limit=MAX_MESSAGES,
            include_all_metadata=True,
        )
        kinds = {
            (one.get("metadata") or {}).get("event_type")
            for one in reply.get("messages") or []
            if one.get("bot_id") == app.identity.bot
        }
        if HELLO_EVENT in kinds:
            return False
        count = "one document" if documents == 1 else f"{documents} documents"
        app.web.once(
            "chat.postMessage",
            channel=channel,
            text=f"Hello! I answer questions here from {count} "
            f"({sanitize_mrkdwn(title)}), and say where I "
            f"read it. Mention me with yours: <@{app.identity.user}>",
            metadata={"event_type": HELLO_EVENT, "event_payload": {"channel": channel}},
        )
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        raise CopilotError(f"no hello in the channel: {error}", remedy="try again") from error
    return True
