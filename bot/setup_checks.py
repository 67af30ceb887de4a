"""Whether the bot is where its people ask, and who somebody is that is named there.

Whether Slack takes the tokens, and whether they may do all that the manifest asks for.

The bot introduces itself in a channel, once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from slack_sdk import WebClient

from bot.blocks.sanitize.text import sanitize_mrkdwn
from bot.connection import Identity, api_base, reach_slack
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure, refused_token
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
"""Seconds that a check goes on trying: somebody sits in front of it."""
_APP_OF_TOKEN = re.compile(r"xapp-\d+-(A[A-Z0-9]+)-")


@dataclass(frozen=True, kw_only=True)
class SlackApp:
    """The app as Slack knows it by its bot token."""

    web: SlackClient = field(repr=False)
    identity: Identity
    scopes: frozenset[str]
    """Empty where Slack doesn't say."""
    app: str = ""
    """Its id, which the app token names, too; empty where Slack doesn't say."""


def check_bot_token(settings: Settings) -> tuple[Finding, SlackApp | None]:
    """Who the token makes us; None when it is wrong, or Slack doesn't answer."""
    if bad := _bad("SLACK_BOT_TOKEN", _secret(settings, "slack_bot_token")):
        return of_error(BOT_TOKEN, bad), None
    try:
        web, identity = reach_slack(settings, patience=PATIENCE)
        app = SlackApp(
            web=web,
            identity=identity,
            scopes=web.granted,
            app=_app_id(web, identity.bot),
        )
    except CopilotError as error:
        return of_error(BOT_TOKEN, error), None
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        return wrong(BOT_TOKEN, str(error), "try again"), None
    return fine(BOT_TOKEN, f"@{identity.name} in {identity.team_name}"), app


def check_scopes(app: SlackApp, domains: Iterable[Domain] = ()) -> Finding:
    """What the manifest asks for, for these domains, against what was granted when the app was
    installed."""
    from bot.slack.manifest import scopes_for

    wanted = scopes_for(domains)
    if not app.scopes:
        return skipped(SCOPES_CHECK, "Slack doesn't say what the token may do")
    if missing := sorted(wanted.keys() - app.scopes):
        return wrong(
            SCOPES_CHECK,
            f"missing: {', '.join(missing)}",
            "add them under OAuth & Permissions, or paste the manifest under App Manifest; "
            "then Install App › Reinstall",
        )
    return fine(SCOPES_CHECK, f"all {len(wanted)} permissions of the manifest")


def check_app_token(settings: Settings, app: SlackApp | None) -> Finding:
    """Whether Socket Mode opens with it, and for the same app as the bot token's."""
    token = _secret(settings, "slack_app_token")
    if bad := _bad("SLACK_APP_TOKEN", token):
        return of_error(APP_TOKEN, bad)
    web = SlackClient(WebClient(base_url=api_base(settings.slack_api_url), timeout=30))
    try:
        web.call("apps.connections.open", patience=PATIENCE, app_token=token)
    except SlackRefused as refused:
        return of_error(APP_TOKEN, refused_token("SLACK_APP_TOKEN", refused.code))
    except (SlackUnsure, SlackBusy) as error:
        return wrong(
            APP_TOKEN,
            f"could not reach Slack: {error}",
            "check the network, HTTPS_PROXY and SLACK_API_URL",
        )
    named = _APP_OF_TOKEN.match(token)
    if app and app.app and named and named[1] != app.app:
        return wrong(
            APP_TOKEN,
            f"it is of the app {named[1]}, and the bot token of {app.app}",
            "take both from one app",
        )
    return fine(APP_TOKEN, "Socket Mode opens")


def check_slack(
    settings: Settings, domains: Iterable[Domain] = ()
) -> tuple[list[Finding], SlackApp | None]:
    """Both tokens and the permissions; an installation that takes Slack's events by HTTP does
    without an app token."""
    found, app = check_bot_token(settings)
    return [found, *_rest(settings, app, domains)], app


def _rest(settings: Settings, app: SlackApp | None, domains: Iterable[Domain]) -> Iterator[Finding]:
    if app:
        yield check_scopes(app, domains)
    else:
        yield skipped(SCOPES_CHECK, "not asked, for want of a bot token that works")
    if settings.slack_app_token is None and settings.slack_signing_secret:
        yield fine(APP_TOKEN, "not needed: events come by HTTP, with SLACK_SIGNING_SECRET")
    else:
        yield check_app_token(settings, app)


def _bad(variable: str, token: str) -> ConfigError | None:
    """What can be said of a token without asking Slack."""
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
        told = web.call("bots.info", patience=PATIENCE, bot=bot)
    except SlackRefused:  # without users:read
        return ""
    return str((told.get("bot") or {}).get("app_id") or "")


MOST_CHANNELS = 20_000
"""That a name is looked for in."""
PAGE = 999
KINDS = ("public_channel,private_channel", "public_channel")
"""What to ask for: without `groups:read` Slack refuses the first."""

Given = ParamSpec("Given")
Got = TypeVar("Got")


def _translated(ask: Callable[Given, Got]) -> Callable[Given, Got]:
    """Slack's refusals as errors that people can read."""

    @wraps(ask)
    def asked(*args: Given.args, **kwargs: Given.kwargs) -> Got:
        try:
            return ask(*args, **kwargs)
        except SlackRefused as refused:
            remedy = (
                "install the app again with the scopes of the manifest"
                if refused.code == "missing_scope"
                else ""
            )
            raise ConfigError(str(refused), remedy=remedy) from refused
        except (SlackBusy, SlackUnsure) as error:
            raise CopilotError(f"could not reach Slack: {error}", remedy="try again") from error

    return asked


def check_channel(app: SlackApp, channel: str) -> Finding:
    """Whether it is there, in use, and the bot in it."""
    check = f"channel {channel}"
    try:
        return _looked_at(app, channel, check)
    except CopilotError as error:
        return of_error(check, error)


@_translated
def _looked_at(app: SlackApp, channel: str, check: str) -> Finding:
    invite = f"write /invite @{app.identity.name} there"
    try:
        told = app.web.call("conversations.info", patience=PATIENCE, channel=channel)
    except SlackRefused as refused:
        if refused.code != "channel_not_found":
            raise
        return wrong(
            check,
            "the bot sees no such channel",
            f"if it is a private one, {invite}; else copy its id again: "
            "the channel's name › About › Channel ID",
        )
    about = told.get("channel") or {}
    name = f"#{about.get('name') or channel}"
    if about.get("is_im") or about.get("is_mpim"):
        return wrong(check, "it is a direct message", "choose a channel")
    if about.get("is_archived"):
        return wrong(check, f"{name} is archived", "unarchive it, or choose another")
    if not about.get("is_member"):
        return wrong(check, f"the bot is not in {name}", invite)
    return fine(check, f"{name}, and the bot is in it")


@_translated
def channel_name(app: SlackApp, channel: str) -> str:
    """Without `#`; empty where Slack doesn't say."""
    told = app.web.call("conversations.info", patience=PATIENCE, channel=channel)
    return str((told.get("channel") or {}).get("name") or "")


@_translated
def find_channel(app: SlackApp, text: str) -> str:
    """The id of a channel given by id, link, mention or name.

    Raises ConfigError that names the nearest one."""
    if channel := channel_id_in(text):
        return channel
    name = "-".join(bare(text).lstrip("#").lower().split())
    known = {str(one.get("name") or ""): str(one["id"]) for one in _channels(app)}
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1)
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
            listed = app.web.pages(
                "conversations.list", "channels", patience=PATIENCE, limit=PAGE, types=kinds
            )
            yield from islice(listed, MOST_CHANNELS)
            return
        except SlackRefused as refused:
            if refused.code != "missing_scope" or kinds == KINDS[-1]:
                raise


@_translated
def find_person(app: SlackApp, text: str) -> tuple[str, str]:
    """(id, name) of somebody given by member id, mention or e-mail address.

    Raises ConfigError for nobody of this workspace."""
    given = bare(text).strip("<@>").split("|")[0]
    try:
        if "@" in given:
            told = app.web.call("users.lookupByEmail", patience=PATIENCE, email=given)
        elif re.fullmatch(USER, given):
            told = app.web.call("users.info", patience=PATIENCE, user=given)
        else:
            raise ConfigError(
                f"{given!r} is neither a member id (U…) nor an e-mail address",
                remedy="in Slack: your profile › ⋮ › Copy member ID",
            )
    except SlackRefused as refused:
        if refused.code not in {"user_not_found", "users_not_found", "user_not_visible"}:
            raise
        raise ConfigError(
            f"nobody in {app.identity.team_name} is {given}",
            remedy="in Slack: your profile › ⋮ › Copy member ID",
        ) from refused
    user = told.get("user") or {}
    if user.get("is_bot") or user.get("deleted"):
        raise ConfigError(f"{given} is a bot, or has left", remedy="name a colleague")
    return str(user.get("id") or given), str(user.get("real_name") or user.get("name") or given)


SAID_HELLO = "oncall_hello"
"""The event type in the message's metadata, by which it is found again."""
LOOKED_AT = 100
"""Messages of the channel."""


def say_hello(app: SlackApp, channel: str, *, title: str, documents: int) -> bool:
    """False when it has already said so. Raises CopilotError."""
    try:
        told = app.web.call(
            "conversations.history",
            patience=PATIENCE,
            channel=channel,
            limit=LOOKED_AT,
            include_all_metadata=True,
        )
        kinds = {
            (one.get("metadata") or {}).get("event_type")
            for one in told.get("messages") or []
            if one.get("bot_id") == app.identity.bot
        }
        if SAID_HELLO in kinds:
            return False
        count = "one document" if documents == 1 else f"{documents} documents"
        app.web.once(
            "chat.postMessage",
            channel=channel,
            text=f"Hello! I answer questions here from {count} "
            f"({sanitize_mrkdwn(title)}), and say where I "
            f"read it. Mention me with yours: <@{app.identity.user}>",
            metadata={"event_type": SAID_HELLO, "event_payload": {"channel": channel}},
        )
    except (SlackRefused, SlackUnsure, SlackBusy) as error:
        raise CopilotError(f"no hello in the channel: {error}", remedy="try again") from error
    return True
