"""Whether the bot is where its people ask, and who somebody is that is named there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from functools import wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from bot.checkup.slack_checks import PATIENCE, SlackApp
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure
from config.checks import Finding, bare, channel_id_in, fine, of_error, wrong
from config.errors import ConfigError, CopilotError
from config.parsing.schedules import USER

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
